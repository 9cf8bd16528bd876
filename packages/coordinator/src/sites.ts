import type { ApiParts } from './api/api-parts.ts';
import type { ApiCalls } from './api/in-process.ts';
import { DASHBOARD_ASSETS } from './dashboard/assets.ts';
import { Dashboard } from './dashboard/dashboard.ts';
import { createAssetSite } from './web/assets.ts';
import type { Site } from './web/site.ts';
import { WEB_ASSETS } from './web/web-assets.ts';

export type SiteParts = Pick<ApiParts, 'store' | 'tokens' | 'clock' | 'log'>;

/**
 * Makes everything that is served beside the API, in the order in which a request is offered to them.
 *
 * @param calls of the API that the pages work with
 */
export function createSites(parts: SiteParts, calls: ApiCalls): readonly Site[] {
  return [createAssetSite([...WEB_ASSETS, ...DASHBOARD_ASSETS]), new Dashboard({ ...parts, calls })];
}
