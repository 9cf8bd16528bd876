import { type Asset, asset } from '../../web/assets.ts';
import { textFile } from '../../web/text-file.ts';

/** The style of the forms of resources and of the pages around them. */
export const FORM_STYLE: Asset = asset('forms.css', textFile(new URL('./forms.css', import.meta.url)));
