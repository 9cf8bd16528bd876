import type { DashboardPage } from '../page.ts';
import { channelActions } from './actions.ts';
import { channelForms } from './forms.ts';
import { channelList } from './list-page.ts';
import { channelPage } from './page.ts';

/** Everything about channels. */
export const channelPages: readonly DashboardPage[] = [
  channelList,
  ...channelForms,
  channelPage,
  ...channelActions,
];
