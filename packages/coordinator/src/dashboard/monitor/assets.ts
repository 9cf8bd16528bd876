import { type Asset, asset } from '../../web/assets.ts';
import { CHARTS_STYLE } from '../../web/charts/assets.ts';
import { textFile } from '../../web/text-file.ts';

/** The style of the pages of a monitor. */
export const MONITOR_STYLE: Asset = asset('monitor.css', textFile(new URL('./monitor.css', import.meta.url)));

/** What the pages of a monitor load beside the style of the dashboard. */
export const MONITOR_STYLES: readonly Asset[] = [CHARTS_STYLE, MONITOR_STYLE];
