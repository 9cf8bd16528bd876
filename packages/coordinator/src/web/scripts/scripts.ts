import { type Asset, asset } from '../assets.ts';
import { textFile } from '../text-file.ts';

/** Shows times in the visitor's zone. */
export const TIMES_SCRIPT: Asset = asset('times.js', textFile(new URL('./times.js', import.meta.url)));
