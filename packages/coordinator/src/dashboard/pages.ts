import { overviewPage } from './overview/page.ts';
import type { DashboardPage } from './page.ts';

/** Every page of the dashboard. The navigation shows those that have an entry, in this order. */
export function dashboardPages(): readonly DashboardPage[] {
  return [overviewPage];
}
