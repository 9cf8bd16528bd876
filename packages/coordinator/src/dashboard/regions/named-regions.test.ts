import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import type { TransitionView } from '../../api/answers.ts';
import { changesList } from '../monitor/status-changes.ts';

/* Pages show the name of a region of one's own wherever they show a region. */

const NAMED = 'Berlin office (office-berlin)';

let api: RunningApi;
let session: DashboardSession;
let id: string;

beforeAll(async () => {
  api = await startApi({
    ownRegions: [
      { id: 'office-berlin', name: 'Berlin office' },
      { id: 'dc-2', name: null },
    ],
    checks: {
      runNow: async (_, regions) => regions.map((region) => ({ region, agent: null, result: null })),
    },
  });
  session = await DashboardSession.open(api);
  const monitor = { type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m', active: true };
  id = await api.create('/v1/monitors', { ...monitor, regions: ['office-berlin', 'dc-2', 'hosta-fra'] });
  await api.store.transaction((tx) =>
    tx.runEach('INSERT INTO monitor_notices (monitor_id, region, since, key, told) VALUES (?, ?, ?, ?, ?)', [
      [Number(id), 'office-berlin', Date.UTC(2025, 11, 31, 23), 'key', '[]'],
    ]),
  );
});
afterAll(() => api.dispose());

test.each([
  ['the list', () => '/', `${NAMED} fails alone`],
  [
    'the warning of a monitor',
    () => `/monitors/${id}`,
    `Region ${NAMED} alone has failed since <time datetime="2025-12-31T23:00:00.000Z"`,
  ],
  ['its settings', () => `/monitors/${id}`, `<dd>hosta-fra, dc-2, ${NAMED}</dd>`],
  ['its table of regions', () => `/monitors/${id}`, `#latency">${NAMED}</a>`],
  ['the choice of its charts', () => `/monitors/${id}`, `<option value="office-berlin">${NAMED}</option>`],
  [
    'the filter of its results',
    () => `/monitors/${id}/results`,
    `<option value="office-berlin">${NAMED}</option>`,
  ],
  ['the what-if page', () => `/monitors/${id}/what-if`, `value="office-berlin" checked> ${NAMED}<`],
  ['the form', () => `/monitors/${id}/edit?type=tcp`, NAMED],
])('%s', async (_, path, text) => {
  const page = await session.get(path());
  expect(page.status).toBe(200);
  expect(page.text).toContain(text);
});

test('a trial', async () => {
  const edit = `/monitors/${id}/edit?type=tcp`;
  const fields = await session.filled(edit, edit, {});
  fields.set('intent', 'try');
  const { text } = await session.post(edit, fields);
  expect(text).toContain(`<span class="log-place">${NAMED}</span>`);
});

test('a change of the status', () => {
  const vote = { region: 'office-berlin', outcome: 'failed', slot: 0, latency: null, status_code: null };
  const change = { id: '1', at: 0, from: 'active', to: 'error', reason: 'majority-failed', slot: 0 };
  const votes = [{ ...vote, error_message: 'connection refused', counted: true }];
  const list = changesList([{ ...change, until: null, slots: null, votes } as TransitionView], () => NAMED);
  expect(String(list)).toContain(`The only region failed: connection refused (${NAMED}).`);
  expect(String(list)).toContain(`<th scope="row">${NAMED}</th>`);
});
