import { type Asset, asset } from '../web/assets.ts';
import { CHARTS_SCRIPT, CHARTS_STYLE } from '../web/charts/assets.ts';
import { textFile } from '../web/text-file.ts';

/** The style of the pages of a monitor. */
export const MONITOR_STYLE: Asset = asset(
  'monitor.css',
  textFile(new URL('./monitor/monitor.css', import.meta.url)),
);

/** What the pages of a monitor load beside the style of the dashboard. */
export const MONITOR_STYLES: readonly Asset[] = [CHARTS_STYLE, MONITOR_STYLE];

/** The style of the map of the regions. */
export const REGIONS_STYLE: Asset = asset(
  'regions.css',
  textFile(new URL('./regions/regions.css', import.meta.url)),
);

/** The style of the forms of resources and of the pages around them. */
export const FORM_STYLE: Asset = asset(
  'forms.css',
  textFile(new URL('./resources/forms.css', import.meta.url)),
);

export const DASHBOARD_STYLE: Asset = asset(
  'dashboard.css',
  textFile(new URL('./dashboard.css', import.meta.url)),
);

/** Keeps a page right while it is open. */
export const LIVE_SCRIPT: Asset = asset('live.js', textFile(new URL('./scripts/live.js', import.meta.url)));

/** The command palette. */
export const PALETTE_SCRIPT: Asset = asset(
  'palette.js',
  textFile(new URL('./scripts/palette.js', import.meta.url)),
);

/** What the pages of the dashboard load beyond the common assets. */
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
