import { type Asset, asset } from '../assets.ts';
import { textFile } from '../text-file.ts';

/** The style of charts. */
export const CHARTS_STYLE: Asset = asset('charts.css', textFile(new URL('./charts.css', import.meta.url)));

/** Tells the values of a chart under the pointer. Charts need it not. */
export const CHARTS_SCRIPT: Asset = asset('charts.js', textFile(new URL('./charts.js', import.meta.url)));
