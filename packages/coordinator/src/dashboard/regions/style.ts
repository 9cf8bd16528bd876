import { type Asset, asset } from '../../web/assets.ts';
import { textFile } from '../../web/text-file.ts';

/** The style of the map of the regions. */
export const REGIONS_STYLE: Asset = asset('regions.css', textFile(new URL('./regions.css', import.meta.url)));
