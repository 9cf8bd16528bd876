import type { StreamPosition } from '@svc/coordinator/store/results/recording-store.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { regionSet } from '@svc/coordinator/verdict/region-set.ts';
import type { StoredState } from '@svc/coordinator/verdict/restart.ts';
import {
  noWrites,
  type StoredVote,
  type Writes,
  type WrittenState,
  type WrittenVotes,
} from '@svc/coordinator/verdict/writes.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseWorldStore } from '../simulation/database-store.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import type { WorldStore } from '../simulation/store.ts';

/** Every store that the recorder may use keeps these promises. */

const A: Region = 'hosta-fra';
const B: Region = 'hostb-par';
const NOW = Date.UTC(2026, 0, 1);
const PERIOD = 30_000;
/** A slot on the grid of no period. It is found again because it is remembered. */
const SLOT = NOW - 12_345;
const MONITOR: LiveMonitor = {
  id: 7,
  workspaceId: 1,
  type: 'http',
  name: 'Monitor',
  target: 'http://127.0.0.1/',
  active: true,
  periodMs: PERIOD,
  regions: [A, B],
  version: 1,
  quorum: 'majority',
  confirmAfter: 1,
  recoverAfter: 1,
  degradedAtMs: 0,
  longestCheckMs: 10_000,
  activatedAt: NOW,
  checkText: new Secret('{}'),
  declaredExport: null,
};

let sqlite: DatabaseWorldStore;
beforeAll(async () => {
  sqlite = await DatabaseWorldStore.open();
});
afterAll(() => sqlite.close());

async function emptySqlite(): Promise<WorldStore> {
  await sqlite.clear();
  return sqlite;
}

describe.each([
  ['the database', emptySqlite],
  ['memory', async () => new MemoryStore()],
] as const)('a recording store in %s', (_, open) => {
  let store: WorldStore;

  beforeEach(async () => {
    store = await open();
    await store.declare(MONITOR);
  });

  function write(writes: Partial<Writes>, changesUntil: number | null = null) {
    const batch = { writes: { ...noWrites(NOW), ...writes }, positions: [], changesUntil, exportNote: null };
    return store.recording.record(batch);
  }

  const outcomes = (...regions: Region[]) =>
    store.recording.recordedOutcomes(regions.map((region) => ({ monitorId: 7, slot: SLOT, region })));

  async function states(): Promise<StoredState[]> {
    const all: StoredState[] = [];
    for await (const some of store.recording.states(NOW)) all.push(...some);
    return all;
  }

  test('the first outcome of a region and slot stays, also in one batch', async () => {
    await write({ results: [result(A, 'failed'), result(A, 'passed')] });
    await write({ results: [result(A, 'degraded')], abstentions: [abstention(A)] });
    expect(await outcomes(A)).toEqual(['failed']);
  });

  test('an outcome takes the place of not_run, and not the other way round', async () => {
    await write({ results: [result(A, 'not_run')], abstentions: [abstention(B)] });
    expect(await outcomes(A, B)).toEqual(['not_run', 'not_run']);
    await write({ results: [result(A, 'passed'), result(B, 'failed')] });
    expect(await outcomes(A, B)).toEqual(['passed', 'failed']);
  });

  test('answers in the order of what is asked; null where nothing is recorded', async () => {
    await write({ results: [result(B, 'passed')] });
    expect(await outcomes(A, B, A)).toEqual([null, 'passed', null]);
    expect(await store.recording.recordedOutcomes([])).toEqual([]);
  });

  test('the position of each stream is the last that was written', async () => {
    const positions = async () =>
      (await store.recording.positions()).toSorted((a, b) => a.stream.localeCompare(b.stream));
    expect(await positions()).toEqual([]);
    const other = { stream: 'b', created: 'other', sequence: 9, messageId: 'm9', time: NOW };
    const position = { stream: 'a', created: 'stream', sequence: 5, messageId: 'm5', time: NOW };
    const move = (...moved: StreamPosition[]) =>
      store.recording.record({
        writes: noWrites(NOW),
        positions: moved,
        changesUntil: null,
        exportNote: null,
      });
    await move(position, other);
    await write({});
    expect(await positions()).toEqual([position, other]);
    const next = { ...position, sequence: 6, messageId: 'm6' };
    await move(next);
    expect(await positions()).toEqual([next, other]);
  });

  test('a state is read back as it was written last', async () => {
    await write({ openedIncidents: [{ key: 'key-1', monitorId: 7, at: NOW - 500 }], states: [state({})] });
    const written = state({ status: 'error', reason: 'majority-failed', incident: 'key-1' });
    const votes = votesOf({});
    await write({ states: [written], votes: [votes] });
    const [read, ...others] = await states();
    expect(others).toEqual([]);
    expect(read).toEqual({ ...written, ...votes, incidentSince: NOW - 500, links: [], intervals: [] });
    const later = votesOf({ decidedSlot: SLOT + 15, open: [] });
    await write({ votes: [later] });
    expect((await states())[0]).toMatchObject({ ...written, ...later });
  });

  test('a state of a monitor that is gone is not kept', async () => {
    await write({ states: [state({})], votes: [votesOf({})] });
    await store.remove(7);
    expect(await states()).toEqual([]);
    await write({ states: [state({})], votes: [votesOf({})], removed: [7] });
    expect(await states()).toEqual([]);
    await store.declare(MONITOR);
    await write({ states: [state({})] });
    expect(await states()).toMatchObject([{ decidedSlot: 0, votes: [], open: [] }]);
  });

  test('a link keeps what was announced on it, and another one does not have it', async () => {
    await store.link(7, 10, 'webhook', 1);
    await store.link(7, 20, 'incident_a', 2);
    const told20 = { monitorId: 7, notificationId: 20, providerType: 'incident_a' } as const;
    const announcement = { ...told20, announced: 'error', incident: 'key-1' } as const;
    const openedIncidents = [{ key: 'key-1', monitorId: 7, at: NOW - 500 }];
    await write({ openedIncidents, states: [state({})], announcements: [announcement] });
    const [read] = await states();
    expect(read?.links).toHaveLength(2);
    const told = { announced: 'error', incident: 'key-1', incidentSince: NOW - 500 } as const;
    const untold = { announced: 'active', incident: null, incidentSince: null } as const;
    expect(read?.links).toEqual(
      expect.arrayContaining([
        { notificationId: 10, providerType: 'webhook', version: 1, ...untold },
        { notificationId: 20, providerType: 'incident_a', version: 2, ...told },
      ]),
    );
  });

  test('unlinked, nothing is announced; linked again it starts from active', async () => {
    await store.link(7, 10, 'webhook', 1);
    await store.unlink(7, 10);
    const told10 = { monitorId: 7, notificationId: 10, providerType: 'webhook' } as const;
    const announcement = { ...told10, announced: 'error', incident: 'key-1' } as const;
    await write({ states: [state({})], announcements: [announcement] });
    expect((await states())[0]?.links).toEqual([]);
    await store.link(7, 10, 'webhook', 3);
    expect((await states())[0]?.links).toMatchObject([{ version: 3, announced: 'active', incident: null }]);
  });

  test('a channel that has become one of another kind was told nothing', async () => {
    await store.link(7, 10, 'incident_a', 1);
    const former = { monitorId: 7, notificationId: 10, providerType: 'webhook' } as const;
    const announcement = { ...former, announced: 'error', incident: 'key-1' } as const;
    await write({ states: [state({})], announcements: [announcement] });
    expect((await states())[0]?.links).toMatchObject([{ announced: 'active', incident: null }]);
  });

  test('of a channel that is gone, no delivery is queued', async () => {
    await store.link(7, 10, 'webhook', 1);
    await store.link(7, 20, 'webhook', 1);
    await store.removeChannel(20);
    const deliveries = [delivery('u1', 10), delivery('u2', 20), delivery('u3', 10)];
    expect(await write({ deliveries })).toEqual([true, false, true]);
  });

  test('a delivery is queued once under its uid', async () => {
    await store.link(7, 10, 'webhook', 1);
    expect(await write({ deliveries: [delivery('u1', 10)] })).toEqual([true]);
    expect(await write({ deliveries: [delivery('u1', 10), delivery('u2', 10)] })).toEqual([false, true]);
  });

  test('changes whose effects are kept leave the log, up to the one named', async () => {
    const first = await store.logChange(7);
    const second = await store.logChange(7);
    await write({});
    expect(await store.loggedChanges()).toEqual([first, second]);
    await write({}, first);
    expect(await store.loggedChanges()).toEqual([second]);
  });

  test('nothing of a batch that fails is kept', async () => {
    const change = await store.logChange(7);
    await store.link(7, 10, 'webhook', 1);
    const writes: Writes = {
      ...noWrites(NOW),
      results: [result(A, 'passed'), result(B, 'passed', null as unknown as number)],
      states: [state({})],
      deliveries: [delivery('u1', 10)],
    };
    const position = { stream: 'a', created: 'stream', sequence: 1, messageId: 'm1', time: NOW };
    const failing = store.recording.record({
      writes,
      positions: [position],
      changesUntil: change,
      exportNote: null,
    });
    await expect(failing).rejects.toMatchObject({ code: 'store-constraint' });
    expect(await outcomes(A)).toEqual([null]);
    expect(await states()).toEqual([]);
    expect(await store.recording.positions()).toEqual([]);
    expect(await store.loggedChanges()).toEqual([change]);
  });
});

function result(region: Region, outcome: Outcome, slot = SLOT): Writes['results'][number] {
  const reported = { monitor: 7, version: 1, slot, token: 'good', outcome, started_at: slot, attempts: [] };
  return { region, agent: 'agent', result: reported };
}

function abstention(region: Region): Writes['abstentions'][number] {
  return { monitorId: 7, version: 1, slot: SLOT, region, reason: 'no-agent' };
}

function state(changes: Partial<WrittenState>): WrittenState {
  return {
    id: 7,
    since: NOW - 1_000,
    incident: null,
    status: 'active',
    statusSlot: SLOT - 7,
    reason: 'all-passed',
    version: 1,
    floorSlot: SLOT - PERIOD,
    entered: regionSet([A, B]),
    ...changes,
  };
}

function votesOf(changes: Partial<WrittenVotes>): WrittenVotes {
  return {
    id: 7,
    decidedSlot: SLOT,
    votes: [
      vote(A),
      { ...vote(B), outcome: 'failed', failedSince: SLOT - 10, upSlot: SLOT - 20, statusCode: 500 },
    ],
    open: [
      { slot: SLOT - 30, reports: [] },
      { slot: SLOT + 15, reports: [{ ...vote(A), slot: SLOT + 15, upSlot: SLOT + 15, agedMs: 0 }] },
    ],
    verdicts: [
      { slot: SLOT - PERIOD, status: 'active', at: SLOT - PERIOD + 50 },
      { slot: SLOT, status: 'error', at: SLOT + 40 },
    ],
    writtenAt: NOW,
    ...changes,
  };
}

function vote(region: Region): StoredVote {
  return {
    region,
    outcome: 'passed',
    slot: SLOT,
    at: NOW - 100,
    endedAt: SLOT + 40,
    failedSince: null,
    upSlot: SLOT,
    agedMs: 1_000,
    latency: 12.5,
    statusCode: null,
    errorMessage: null,
  };
}

function delivery(uid: string, notificationId: number): Writes['deliveries'][number] {
  const monitor = { id: 7, name: 'Monitor', url: 'http://127.0.0.1/', type: 'http' } as const;
  const alert = {
    monitor,
    status: 'error',
    cronTimestamp: SLOT,
    at: NOW,
    reason: 'majority-failed',
    incident: 'key-1',
    regions: [],
  } as const;
  return { uid, notificationId, monitorId: 7, alert: { ...alert, regions: [] }, queuedAt: NOW };
}
