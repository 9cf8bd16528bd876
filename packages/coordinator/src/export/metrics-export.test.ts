import { systemClock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog, type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { DeclaredMonitors, liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { lossyStore } from '../../../../test/support/coordinator/lossy-store.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { NO_EXPORT_SETTINGS } from '../../../../test/support/export-settings.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { OtlpReceiver } from '../../../../test/support/otlp-receiver.ts';
import { createHttpPost } from '../outgoing/http-post.ts';
import { Secrets } from '../store/declaration/secrets.ts';
import { writeTotals } from '../store/export-totals.ts';
import { createRecordingStore } from '../store/results/recording-store.ts';
import type { Store } from '../store/store.ts';
import { ONLY_SHARD } from '../verdict/shard.ts';
import { noWrites } from '../verdict/writes.ts';
import { MetricsExport } from './metrics-export.ts';

const GUARD = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.0/8'] });

let database: TemporaryStore;
let store: Store;
let receiver: OtlpReceiver;
let monitors: DeclaredMonitors;
const running = new Set<MetricsExport>();

beforeEach(async () => {
  database = await temporaryStore();
  store = database.store;
  await store.commit([
    { sql: "INSERT INTO workspaces (id, name, created_at) VALUES (9, 'test', 0)", rows: [[]] },
    {
      sql: `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
        updated_at) VALUES (?, 9, 'http', 'Web', 1, '{}', 0, 0, 0)`,
      rows: [[1], [2]],
    },
  ]);
  receiver = await OtlpReceiver.start();
  monitors = new DeclaredMonitors();
});

afterEach(async () => {
  for (const each of running) each.stop();
  running.clear();
  await receiver.close();
  await database.dispose();
});

function exported(id: number) {
  const declaredExport = { endpoint: new Secret(receiver.url), headers: new Secret({}) };
  return liveMonitor(id, { declaredExport });
}

async function started(
  more: Partial<ConstructorParameters<typeof MetricsExport>[0]> = {},
): Promise<MetricsExport> {
  const made = new MetricsExport({
    shard: ONLY_SHARD,
    store,
    monitors,
    settings: { ...NO_EXPORT_SETTINGS, intervalMs: 50, saveEveryMs: 100 },
    createPost: () => createHttpPost({ clock: systemClock, guard: GUARD, timeoutMs: 10_000 }),
    clock: systemClock,
    log: silentLog,
    ...more,
  });
  running.add(made);
  await made.load();
  made.start();
  return made;
}

function resultOf(monitor: number): CheckResult {
  const attempts: CheckResult['attempts'] = [];
  return { monitor, version: 1, slot: 1, token: '', outcome: 'passed', started_at: 1, latency: 20, attempts };
}

/**
 * Records a result of the monitor as the recorder does. If `isNoted` is
 * false, the process ends right after the commit.
 */
async function record(to: MetricsExport, id: number, isNoted = true): Promise<void> {
  const monitor = monitors.get(id) ?? liveMonitor(id);
  const exportNote = to.makeExportNote([{ result: resultOf(id), region: 'hosta-fra', monitor, isNew: true }]);
  const recording = createRecordingStore(store, new Secrets(Buffer.alloc(32, 1)));
  await recording.record({ writes: noWrites(0), positions: [], changesUntil: null, exportNote });
  if (exportNote !== null && isNoted) to.countExportNote(exportNote);
}

const checksOf = (id: number) =>
  receiver.series.find(
    ({ name, attributes: has }) =>
      name === 'svc.checks' && has['svc.monitor.id'] === String(id) && has['svc.check.outcome'] === 'passed',
  )?.point;

const named = (name: string) =>
  receiver.series.find(
    (series) =>
      series.name === 'svc.checks' &&
      series.attributes['svc.monitor.name'] === name &&
      series.attributes['svc.check.outcome'] === 'passed',
  )?.point;

const counted = (id: number, checks: number) => receiver.until(() => Number(checksOf(id)?.asInt) === checks);

const rows = (table: 'export_notes' | 'export_totals') =>
  store.read
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
    .then(({ count }) => count);

test('the next start counts committed results that were not counted, once', async () => {
  monitors.set(exported(1));
  const first = await started();
  await record(first, 1);
  await counted(1, 1);
  const start = checksOf(1)?.startTimeUnixNano;
  await expect.poll(() => rows('export_totals')).toBe(1);
  await record(first, 1, false);
  first.stop();

  const second = await started();
  await counted(1, 2);
  await record(second, 1);
  await counted(1, 3);
  expect(checksOf(1)?.startTimeUnixNano).toBe(start);
});

test('notes from before an export was turned off do not count when it is turned on again', async () => {
  monitors.set(exported(1));
  const first = await started();
  await record(first, 1, false);
  first.stop();
  running.delete(first);

  monitors.set(liveMonitor(1));
  const without = await started();
  await expect.poll(() => rows('export_notes')).toBe(0);
  without.stop();

  monitors.set(exported(1));
  const again = await started();
  await record(again, 1);
  await counted(1, 1);
});

test('notes are removed when the totals that count them are stored', async () => {
  monitors.set(exported(1));
  const first = await started();
  await record(first, 1);
  await expect.poll(() => rows('export_notes')).toBe(0);
  first.stop();
  const second = await started();
  await record(second, 1);
  await counted(1, 2);
});

test('a result that was recorded before is in no note', async () => {
  monitors.set(exported(1));
  const one = await started();
  const monitor = monitors.get(1) ?? liveMonitor(1);
  const known = { result: resultOf(1), region: 'hosta-fra' as const, monitor, isNew: false };
  expect(one.makeExportNote([known])).toBeNull();
});

test('a monitor that is not exported leaves no note, and its totals are removed', async () => {
  monitors.set(exported(1));
  monitors.set(liveMonitor(2));
  const one = await started();
  await record(one, 2);
  expect(await rows('export_notes')).toBe(0);
  await record(one, 1);
  await expect.poll(() => rows('export_totals')).toBe(1);
  monitors.set(liveMonitor(1));
  await expect.poll(() => rows('export_totals')).toBe(0);
  one.stop();

  monitors.set(exported(1));
  const two = await started();
  await record(two, 1);
  await receiver.until(() => checksOf(1) !== undefined);
  await counted(1, 1);
});

test('the first exported monitor opens the pipeline of its endpoint, and another monitor joins it', async () => {
  monitors.set(liveMonitor(1));
  const one = await started();
  await expect(one.testEndpoint(1)).rejects.toMatchObject({ code: 'not-exported' });
  monitors.set(exported(1));
  await record(one, 1);
  await counted(1, 1);
  monitors.set(exported(2));
  await record(one, 2);
  await counted(2, 1);
  await expect.poll(() => one.endpoints).toMatchObject([{ monitors: 2, isFailing: false }]);
  expect(await one.testEndpoint(2)).toMatchObject({ answers: [{ isTaken: true, error: null }] });
  expect(one.points.dropped).toBe(0);
});

test('the pipeline of an endpoint stops with its last monitor, and a returning monitor begins at 0', async () => {
  monitors.set(exported(1));
  monitors.set(exported(2));
  const one = await started();
  await record(one, 1);
  await counted(1, 1);
  const first = Number(checksOf(1)?.startTimeUnixNano);
  const taken = () => one.points.taken;
  await expect.poll(taken).toBeGreaterThan(0);
  monitors.set(liveMonitor(1));
  await expect.poll(() => one.endpoints).toMatchObject([{ monitors: 1 }]);
  monitors.set(liveMonitor(2));
  expect(one.endpoints).toEqual([]);
  const before = taken();
  expect(before).toBeGreaterThan(0);
  await expect.poll(() => rows('export_totals')).toBe(0);
  await expect.poll(() => rows('export_notes')).toBe(0);
  await expect(one.testEndpoint(1)).rejects.toMatchObject({ code: 'not-exported' });

  monitors.set(exported(1));
  await record(one, 1);
  await receiver.until(() => Number(checksOf(1)?.startTimeUnixNano) > first);
  await counted(1, 1);
  await expect.poll(taken).toBeGreaterThan(before);
});

test('counts begin at 0 under another name, even if it was given while the process was down', async () => {
  monitors.set(exported(1));
  const first = await started();
  await record(first, 1);
  await counted(1, 1);
  monitors.set({ ...exported(1), name: 'Other' });
  await record(first, 1);
  await receiver.until(() => named('Other')?.asInt === '1');
  await expect.poll(() => rows('export_totals')).toBe(1);
  await record(first, 1, false);
  first.stop();

  monitors.set({ ...exported(1), name: 'Third' });
  const second = await started();
  await record(second, 1);
  await receiver.until(() => named('Third')?.asInt === '1');
});

test.each(['', '{"v":2', 'null', '{"v":1}'])(
  'stored totals that cannot be read begin anew: %j',
  async (text) => {
    monitors.set(exported(1));
    await writeTotals(store, [{ monitorId: 1, until: 0, text }]);
    const one = await started();
    await record(one, 1);
    await counted(1, 1);
  },
);

test('loading and storing of totals are repeated after a failure, and no result is lost', async () => {
  monitors.set(exported(1));
  const first = await started();
  await record(first, 1, false);
  first.stop();

  let failures = 0;
  const failing = <T>(work: () => Promise<T>, most: number): Promise<T> => {
    if (failures >= most) return work();
    failures += 1;
    return Promise.reject(new Error('the disk is gone'));
  };
  const flaky: Store = Object.assign(Object.create(store), {
    transaction: (work: Parameters<Store['transaction']>[0]) => failing(() => store.transaction(work), 1),
  });
  const logged: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => logged.push(JSON.parse(line).error) });
  const clock = new FakeClock();
  const second = await started({ store: flaky, clock, log });
  await expect
    .poll(async () => {
      await clock.advanceSettling(1_000);
      return [logged.length, await rows('export_totals'), await rows('export_notes')];
    })
    .toEqual([1, 1, 0]);
  second.stop();
  running.delete(second);

  await started();
  await counted(1, 1);
});

test('when totals can never be stored, notes exceed their bound, and the next start counts from 0', async () => {
  monitors.set(exported(1));
  const mostNoteBytes = 1_000;
  const settings = { ...NO_EXPORT_SETTINGS, intervalMs: 50, saveEveryMs: 100, mostNoteBytes };
  const first = await started({ settings });
  await record(first, 1);
  await expect.poll(() => rows('export_totals')).toBe(1);
  await counted(1, 1);
  const start = Number(checksOf(1)?.startTimeUnixNano);
  const [refuse, take] = IS_POSTGRES
    ? [
        'ALTER TABLE export_totals ADD CONSTRAINT refuse CHECK (false) NOT VALID',
        'ALTER TABLE export_totals DROP CONSTRAINT refuse',
      ]
    : [
        "CREATE TRIGGER refuse BEFORE INSERT ON export_totals BEGIN SELECT RAISE(ABORT, 'no room'); END",
        'DROP TRIGGER refuse',
      ];
  await store.commit([{ sql: refuse, rows: [[]] }]);

  first.stop();
  const clock = new FakeClock();
  const second = await started({ settings, clock });
  const recorded = 20;
  for (let each = 0; each < recorded; each += 1) await record(second, 1);
  const kept = async () => {
    await clock.advanceSettling(1_000);
    return [await rows('export_totals'), await rows('export_notes'), Number(checksOf(1)?.asInt)];
  };
  await expect.poll(kept).toEqual([0, 0, 1 + recorded]);
  expect(Number(checksOf(1)?.startTimeUnixNano)).toBe(start);
  second.stop();

  await store.commit([{ sql: take, rows: [[]] }]);
  const third = await started({ settings });
  await record(third, 1);
  await receiver.until(() => Number(checksOf(1)?.startTimeUnixNano) > start);
  await counted(1, 1);
});

test('a result is counted that is recorded while a start reads that there are no notes', async () => {
  monitors.set(exported(1));
  const settings = { ...NO_EXPORT_SETTINGS, intervalMs: 50, saveEveryMs: 100 };
  const first = await started({ settings });
  await record(first, 1);
  await expect.poll(async () => [await rows('export_totals'), await rows('export_notes')]).toEqual([1, 0]);
  first.stop();

  const answered = Promise.withResolvers<void>();
  const isRecorded = Promise.withResolvers<void>();
  const notes = new WeakSet<object>();
  const read = store.read.withPlugin({
    transformQuery({ queryId, node }) {
      const query = JSON.stringify(node);
      if (query.includes('"export_notes"') && query.includes('"SelectAllNode"')) notes.add(queryId);
      return node;
    },
    async transformResult({ queryId, result }) {
      if (notes.has(queryId)) {
        answered.resolve();
        await isRecorded.promise;
      }
      return result;
    },
  });
  const slow = { ...lossyStore(store, () => undefined), read };
  const second = await started({ settings, store: slow });
  await answered.promise;
  await record(second, 1);
  isRecorded.resolve();
  await counted(1, 2);
});

test('the guard judges the endpoints of monitors, and not the operator’s', async () => {
  const asked: boolean[] = [];
  const createPost = (isOperators: boolean) => {
    asked.push(isOperators);
    return createHttpPost({ clock: systemClock, guard: GUARD });
  };
  monitors.set(exported(1));
  monitors.set(liveMonitor(2));
  const fallback = { url: `${receiver.url}/v1/metrics`, headers: [] };
  await started({ createPost, settings: { ...NO_EXPORT_SETTINGS, fallback, intervalMs: 50 } });
  await receiver.until(() => checksOf(1) === undefined && receiver.requests.length >= 2);
  expect(asked.sort()).toEqual([false, true]);
});

test('requests stay small when names and targets are long', async () => {
  const ids = Array.from({ length: 300 }, (_, index) => index + 1);
  const long = { name: 'n'.repeat(250), target: `https://example.com/${'a'.repeat(2_028)}` };
  await store.commit([
    {
      sql: `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
        updated_at) VALUES (?, 9, 'http', 'Web', 1, '{}', 0, 0, 0)`,
      rows: ids.filter((id) => id > 2).map((id) => [id]),
    },
  ]);
  for (const id of ids) monitors.set({ ...exported(id), ...long });
  await started({ settings: { ...NO_EXPORT_SETTINGS, isCompressed: false } });
  const received = () => new Set(receiver.series.map(({ attributes: has }) => has['svc.monitor.id']));
  await receiver.until(() => received().size === ids.length);
  const bytes = receiver.requests.map(({ headers }) => Number(headers['content-length']));
  expect(Math.max(...bytes)).toBeLessThan(2_000_000);
});
