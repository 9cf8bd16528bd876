import type { ApiParts } from './api/api-parts.ts';
import type { ApiCalls } from './api/in-process.ts';
import { Dashboard } from './dashboard/dashboard.ts';
import { DASHBOARD_ASSETS } from './dashboard/dashboard-assets.ts';
import { createAskSite } from './pages/domains/domains.ts';
import { PAGE_ASSETS } from './pages/page-assets.ts';
import { createStatusPages } from './pages/status-page-site.ts';
import { createVisitors } from './pages/visitors.ts';
import type { NewlyQueued } from './store/alerts/delivery-queue.ts';
import { createAssetSite } from './web/assets.ts';
import type { Site } from './web/site.ts';
import { WEB_ASSETS } from './web/web-assets.ts';

export type SiteParts = Pick<
  ApiParts,
  | ('store' | 'secrets' | 'reading' | 'tokens' | 'domains' | 'visitorKey')
  | ('publicUrl' | 'slotNow' | 'clock' | 'log')
> & {
  /** Whether the operator has set how mails are sent. */
  readonly canMail: boolean;
  /** A mail to a visitor of a status page was queued. */
  readonly pageMailQueued: (queued: NewlyQueued) => void;
};

/**
 * Makes everything that is served beside the API, in the order in which a request is offered to them.
 *
 * @param calls of the API that the pages work with
 */
export function createSites(parts: SiteParts, calls: ApiCalls): readonly Site[] {
  const { domains, visitorKey: key, pageMailQueued: onQueued } = parts;
  const visitors = createVisitors({ ...parts, key, onQueued });
  return [
    createAssetSite([...WEB_ASSETS, ...PAGE_ASSETS, ...DASHBOARD_ASSETS]),
    createAskSite(parts),
    visitors.unsubscribing,
    createStatusPages({
      ...parts,
      mayRead: visitors.mayRead,
      slugOfHost: async (host) => (await domains.findPageOf(host))?.slug ?? null,
      routes: visitors.routes,
    }),
    new Dashboard({ ...parts, calls }),
  ];
}
