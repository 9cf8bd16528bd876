import { channelPages } from './channels/channel-pages.ts';
import type { DashboardPage } from './dashboard-page.ts';
import { monitorActions } from './monitor/monitor-actions.ts';
import { overviewPage } from './monitor/monitor-list.ts';
import { MONITOR_PAGES } from './monitor/monitor-pages.ts';
import { incidentPages } from './notes/incident-pages.ts';
import { maintenancePages } from './notes/maintenance-pages.ts';
import { auditPage } from './operate/audit-page.ts';
import { declarationPage } from './operate/declaration-page.ts';
import { servicePage } from './operate/service-page.ts';
import { tokenPages } from './operate/token-pages.ts';
import { regionsPage } from './regions/regions-page.ts';
import { monitorForms, monitorRemoval } from './resources/monitor-forms.ts';
import { type ChangeFeed, changesPage } from './scripts/change-feed.ts';
import { palettePage } from './scripts/palette-page.ts';
import { statusPagePages } from './status-pages/status-page-pages.ts';

/** The parts that pages need in addition to the endpoints of the API. */
export type PageParts = { readonly changes: ChangeFeed };

/** Every page of the dashboard. The navigation shows pages that have an entry, in this order. */
export function dashboardPages({ changes }: PageParts): readonly DashboardPage[] {
  const pages: readonly DashboardPage[] = [
    overviewPage,
    ...MONITOR_PAGES,
    ...monitorForms,
    ...monitorRemoval,
    ...monitorActions,
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
