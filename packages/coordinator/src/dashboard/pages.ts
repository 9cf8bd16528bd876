import { channelPages } from './channels/pages.ts';
import { declarationPage } from './declaration/page.ts';
import { MONITOR_PAGES } from './monitor/pages.ts';
import { overviewPage } from './overview/page.ts';
import type { DashboardPage } from './page.ts';
import { monitorForms } from './resources/monitor-forms.ts';
import { monitorRemoval } from './resources/monitor-removal.ts';
import { statusPagePages } from './status-pages/pages.ts';

/** Every page of the dashboard. The navigation shows those that have an entry, in this order. */
export function dashboardPages(): readonly DashboardPage[] {
  return [
    overviewPage,
    ...MONITOR_PAGES,
    ...monitorForms,
    ...monitorRemoval,
    ...channelPages,
    ...statusPagePages,
    declarationPage,
  ];
}
