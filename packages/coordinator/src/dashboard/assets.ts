import { type Asset, asset } from '../web/assets.ts';
import { CHARTS_SCRIPT, CHARTS_STYLE } from '../web/charts/assets.ts';
import { textFile } from '../web/text-file.ts';
import { MONITOR_STYLE } from './monitor/assets.ts';
import { REGIONS_STYLE } from './regions/style.ts';
import { FORM_STYLE } from './resources/style.ts';

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
