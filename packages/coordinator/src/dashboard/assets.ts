import { type Asset, asset } from '../web/assets.ts';
import { textFile } from '../web/text-file.ts';

export const DASHBOARD_STYLE: Asset = asset(
  'dashboard.css',
  textFile(new URL('./dashboard.css', import.meta.url)),
);

/** What the pages of the dashboard load beyond the common assets. */
export const DASHBOARD_ASSETS: readonly Asset[] = [DASHBOARD_STYLE];
