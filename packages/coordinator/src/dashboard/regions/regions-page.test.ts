import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import { writeAbsences, writeLastSeen } from '../../store/results/region-absences.ts';

let api: RunningApi;
let session: DashboardSession;

// The test clock starts at the beginning of 2026.
const HOURS_AGO_3 = Date.UTC(2025, 11, 31, 21);
const DAYS_AGO_2 = Date.UTC(2025, 11, 30);

beforeAll(async () => {
  api = await startApi();
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

/** The text of a page without its markup. */
async function textOf(path: string): Promise<string> {
  return wordsIn((await session.get(path)).text);
}

function wordsIn(page: string): string {
  return page.replaceAll(/<[^>]*>/g, '');
}

async function tried(): Promise<string> {
  const path = '/monitors/new?type=tcp';
  const fields = { name: 'Draft', uri: 'mail.example:25', periodicity: '1m', intent: 'try' };
  return wordsIn((await session.send(path, path, fields)).text);
}

test('while no region ever had an agent, no instant is told', async () => {
  expect(await textOf('/regions')).toContain('No agent has been seen');
  expect(await tried()).toContain('No region has an agent, so nothing was checked.');
});

test('a region without an agent that takes jobs shows since when and for how long', async () => {
  await api.store.transaction(async (tx) => {
    await writeLastSeen(tx, [
      { region: 'hostb-par', at: DAYS_AGO_2 },
      { region: 'hosta-fra', at: HOURS_AGO_3 },
    ]);
    await writeAbsences(tx, [
      { region: 'hosta-fra', kind: 'began', at: HOURS_AGO_3 },
      { region: 'hosta-ams', kind: 'began', at: DAYS_AGO_2 },
    ]);
  });
  const text = await textOf('/regions');
  expect(text).toContain('none since 31 Dec 2025, 21:00 UTC (3 hours ago)');
  expect(text).toContain('none since 30 Dec 2025, 00:00 UTC (2 days ago)');
  expect(text).toContain('missed since 30 Dec 2025, 00:00 UTC (2 days ago)');
  expect(text.match(/since /g)).toHaveLength(3);
});

test('a draft that no region checked shows since when no region has an agent', async () => {
  expect(await tried()).toContain(
    'No region has had an agent since 31 Dec 2025, 21:00 UTC (3 hours ago), so nothing was checked.',
  );
});

test('while another coordinator leads, its agents are not called absent', async () => {
  const waiting = await startApi({ shards: async () => [{ id: 0, holder: 'another one', isHere: false }] });
  try {
    await waiting.store.transaction((tx) => writeLastSeen(tx, [{ region: 'hosta-fra', at: HOURS_AGO_3 }]));
    const session = await DashboardSession.open(waiting);
    const words = wordsIn((await session.get('/regions')).text);
    expect(words).toContain('Other coordinators hear them: this one leads no shard.');
    expect(words).not.toContain('No agent ');
    expect(wordsIn((await session.get('/service')).text)).toContain('Another coordinator leads');
  } finally {
    await waiting.dispose();
  }
});

test('a coordinator that leads one of several shards calls a region absent as soon as it misses its agents', async () => {
  const sharing = await startApi({
    shards: async () => [
      { id: 0, holder: 'another one', isHere: false },
      { id: 1, holder: 'this one', isHere: true },
    ],
  });
  try {
    await sharing.store.transaction((tx) => writeLastSeen(tx, [{ region: 'hosta-fra', at: HOURS_AGO_3 }]));
    const { text } = await (await DashboardSession.open(sharing)).get('/regions');
    expect(wordsIn(text)).toContain('none since 31 Dec 2025, 21:00 UTC (3 hours ago)');
  } finally {
    await sharing.dispose();
  }
});

test('a region whose agents all stop shows since when none takes jobs', async () => {
  const stopping = {
    ...{ id: 'a1', version: '1', capacity: 10, running: 1, loopDelayMs: 1, machine: '', sicknesses: [] },
    ...{ isDraining: true, lastSeenWall: api.clock.wall() },
  };
  const stopped = await startApi({ agents: { agentsOf: () => [stopping], liveRegions: () => [] } });
  try {
    await stopped.store.transaction((tx) =>
      writeAbsences(tx, [{ region: 'hosta-fra', kind: 'began', at: HOURS_AGO_3 }]),
    );
    const { text } = await (await DashboardSession.open(stopped)).get('/regions');
    expect(wordsIn(text)).toContain('none has taken jobs since 31 Dec 2025, 21:00 UTC (3 hours ago)');
  } finally {
    await stopped.dispose();
  }
});
