import type { MonitorStatus } from '../../domain/monitor.ts';
import { html } from '../../web/html.ts';
import { monitorState } from '../monitor-state.ts';
import type { DashboardPage } from '../page.ts';
import { pageHead } from '../page-head.ts';

type Listed = {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly status: MonitorStatus;
};

/** The overview: all monitors with their states. */
export const overviewPage: DashboardPage = {
  method: 'GET',
  path: '/',
  scope: 'read',
  navigation: { label: 'Monitors', group: 'Watch' },
  async handle({ api }) {
    const { data } = await api.read<{ data: readonly Listed[] }>('/v1/monitors');
    return {
      title: 'Monitors',
      body: html`${pageHead('Monitors')}
<div class="table-frame"><table>
<thead><tr><th scope="col">State</th><th scope="col">Name</th></tr></thead>
<tbody>${data.map(({ name, active, status }) => html`<tr><td>${monitorState(status, active)}</td><th scope="row">${name}</th></tr>`)}</tbody>
</table></div>`,
    };
  },
};
