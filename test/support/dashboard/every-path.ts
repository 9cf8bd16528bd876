import { dashboardPages } from '@svc/coordinator/dashboard/pages.ts';
import { ChangeFeed } from '@svc/coordinator/dashboard/scripts/change-feed.ts';
import type { RunningApi } from '../api.ts';
import { silentLog } from '../configured-store.ts';

/** Paths that answer scripts, and are no pages. */
const NO_PAGES = ['/events', '/palette'];
/**
 * Paths for kinds whose first object has no such page. For example, the operator's token cannot be revoked.
 */
const OTHER_PATHS: Readonly<Record<string, string>> = {
  '/tokens/{id}/revoke': '/tokens/2/revoke',
  '/incidents/{incident_id}/updates/{id}': '/incidents/2/updates/2',
};

/** The path of each page of the dashboard, about the objects of the sample company. */
export function dashboardPaths(api: RunningApi): string[] {
  return dashboardPages({ changes: new ChangeFeed({ ...api, log: silentLog }) })
    .filter(({ method, path }) => method === 'GET' && !NO_PAGES.includes(path))
    .map(({ path }) => OTHER_PATHS[path] ?? path.replaceAll(/\{\w+\}/g, '1'));
}
