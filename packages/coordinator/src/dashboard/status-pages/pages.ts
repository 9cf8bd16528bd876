import type { DashboardPage } from '../page.ts';
import { statusPageActions } from './actions.ts';
import { statusPageForms } from './forms.ts';
import { statusPageList } from './list-page.ts';
import { statusPagePage } from './page.ts';
import { statusPagePreview } from './preview.ts';

/** Everything about status pages. */
export const statusPagePages: readonly DashboardPage[] = [
  statusPageList,
  ...statusPageForms,
  statusPagePage,
  statusPagePreview,
  ...statusPageActions,
];
