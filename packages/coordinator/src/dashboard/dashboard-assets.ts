import { type Asset, asset, textFile } from '../web/assets.ts';
import { CHARTS_SCRIPT, CHARTS_STYLE } from '../web/charts/chart.ts';

/** The style of the pages of a monitor. */
export const MONITOR_STYLE: Asset = asset(
  'monitor.css',
  textFile(new URL('./monitor/monitor.css', import.meta.url)),
);

/** The styles that pages of a monitor load in addition to the dashboard's style. */
export const MONITOR_STYLES: readonly Asset[] = [CHARTS_STYLE, MONITOR_STYLE];

/** The style of the map of the regions. */
export const REGIONS_STYLE: Asset = asset(
  'regions.css',
  textFile(new URL('./regions/regions.css', import.meta.url)),
);

/** The style of resource forms, and of the pages around them. */
export const FORM_STYLE: Asset = asset(
  'forms.css',
  textFile(new URL('./resources/forms.css', import.meta.url)),
);

export const DASHBOARD_STYLE: Asset = asset(
  'dashboard.css',
  textFile(new URL('./dashboard.css', import.meta.url)),
);

/** The script that keeps an open page up to date. */
export const LIVE_SCRIPT: Asset = asset('live.js', textFile(new URL('./scripts/live.js', import.meta.url)));

/** The script of the command palette. */
export const PALETTE_SCRIPT: Asset = asset(
  'palette.js',
  textFile(new URL('./scripts/palette.js', import.meta.url)),
);

/** The assets that the dashboard serves, in addition to those of all sites. */
export const DASHBOARD_ASSETS: readonly Asset[] = [
  DASHBOARD_STYLE,
  LIVE_SCRIPT,
  PALETTE_SCRIPT,
  CHARTS_STYLE,
  CHARTS_SCRIPT,
  MONITOR_STYLE,
  FORM_STYLE,
  REGIONS_STYLE,
];
