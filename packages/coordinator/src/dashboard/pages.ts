import { auditPage } from './audit/page.ts';
import { type ChangeFeed, changesPage } from './changes/change-feed.ts';

import { channelPages } from './channels/pages.ts';
import { declarationPage } from './declaration/page.ts';
import { MONITOR_PAGES } from './monitor/pages.ts';
import { incidentPages } from './notes/incidents.ts';
import { maintenancePages } from './notes/maintenance.ts';
import { overviewPage } from './overview/page.ts';
import type { DashboardPage } from './page.ts';
import { palettePage } from './palette/page.ts';
import { regionsPage } from './regions/page.ts';
import { monitorForms, monitorRemoval } from './resources/monitor-forms.ts';

import { servicePage } from './service/page.ts';
import { statusPagePages } from './status-pages/pages.ts';
import { tokenPages } from './tokens/pages.ts';

/** What pages need that is no endpoint of the API. */
export type PageParts = { readonly changes: ChangeFeed };

/** Every page of the dashboard. The navigation shows those that have an entry, in this order. */
export function dashboardPages({ changes }: PageParts): readonly DashboardPage[] {
  const pages: readonly DashboardPage[] = [
    overviewPage,
    ...MONITOR_PAGES,
    ...monitorForms,
    ...monitorRemoval,
    ...incidentPages,
    ...maintenancePages,
    regionsPage,
    ...channelPages,
    ...statusPagePages,
    servicePage,
    declarationPage,
    ...tokenPages(),
    auditPage,
    changesPage(changes),
    palettePage(() => pages),
  ];
  return pages;
}
