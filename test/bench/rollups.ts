/**
 * Measures the CPU of rolling up one result, how long this holds the scheduling
 * thread, and how long summaries and the bars of a status page take afterwards, on
 * a real database file. Every monitor is checked from three regions every 30 s.
 *
 * node test/bench/rollups.ts [monitors] [minutes of results]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Rollups } from '@svc/coordinator/history/rollups.ts';
import { dailyTimes } from '@svc/coordinator/history/status-times.ts';
import { readSummary } from '@svc/coordinator/history/summary.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { addLatency, emptyHistogram, encodeHistogram } from '@svc/coordinator/verdict/latency-histogram.ts';
import { phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import {
  DAY_MS,
  HOUR_MS,
  SUMMARY_RANGES,
  type SummaryRange,
} from '@svc/coordinator/verdict/summary-range.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { REGIONS as ALL_REGIONS } from '@svc/shared/regions.ts';
import { addResults } from '../support/recorded-results.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const PERIOD_MS = 30_000;
const [monitorCount = 10_000, minutes = 80] = process.argv.slice(2).map(Number);

const directory = await mkdtemp(join(tmpdir(), 'svc-bench-rollups-'));
const log = createLogger('bench', 'warn');
const store = await openStore({ path: join(directory, 'svc.db'), log });
const midnight = Date.UTC(2026, 0, 15);
const start = midnight - 2 * HOUR_MS;
let now = start;

const ids = Array.from({ length: monitorCount }, (_, index) => index + 1);
await store.transaction(async (tx) => {
  await tx.runEach(
    "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'bench', 0) ON CONFLICT DO NOTHING",
    [[]],
  );
  await tx.runEach(
    `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
       updated_at) VALUES (?, 1, 'http', 'bench', 1, '{}', 0, 0, 0)`,
    ids.map((id) => [id]),
  );
  await tx.runEach(
    `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
     VALUES (?, 'unknown', 'active', 'all-passed', ?, '[]')`,
    ids.map((id) => [id, start]),
  );
});

const order = ids.toSorted((a, b) => phaseOf(a, PERIOD_MS) - phaseOf(b, PERIOD_MS));
const latencyOf = (id: number, turn: number) => 40 + (id % 50) + ((turn * 7 + id) % 30);

/** Adds the rows of half a minute of all monitors, as the recorder writes them. */
async function addPeriod(at: number): Promise<void> {
  const results = order.flatMap((id) => {
    const slot = at + phaseOf(id, PERIOD_MS);
    const latency = latencyOf(id, at / PERIOD_MS);
    const phases = { dns: 0.5, connect: 1, tls: 3, first_byte: 5, transfer: latency - 9.5 };
    const found = { outcome: 'passed', latency, phases, status_code: 200, agent: 'agent-1' } as const;
    return REGIONS.map((region) => ({
      ...found,
      slot,
      monitor_id: id,
      region,
      started_at: slot,
      recorded_at: at,
    }));
  });
  await addResults(store, ...results);
}

for (let at = start; at < start + minutes * 60_000; at += PERIOD_MS) {
  await addPeriod(at);
}
await delay(1_500);

/** Time from the beginning of a transaction to its COMMIT, ms. Recording waits for this time. */
const held: number[] = [];
const rollups = await Rollups.load({
  store: {
    ...store,
    read: store.read,
    close: () => store.close(),
    transaction: (work) =>
      store.transaction(async (tx) => {
        const began = performance.now();
        const done = await work(tx);
        held.push(performance.now() - began);
        return done;
      }),
  },
  clock: systemClock,
  slotNow: () => now,
  believedNow: () => now,
  isCaughtUp: () => true,
  log,
});

async function measured(title: string, count: number, unit: string): Promise<void> {
  held.length = 0;
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const cpu = process.cpuUsage();
  const thread = process.threadCpuUsage();
  let steps = 0;
  while (await rollups.step()) steps += 1;
  const used = process.cpuUsage(cpu);
  const onMain = process.threadCpuUsage(thread);
  loop.disable();
  console.log(title, {
    [unit]: count,
    steps,
    [`cpuMicrosecondsPer ${unit}`]: Number(((used.user + used.system) / count).toFixed(3)),
    ofThemOnTheMainThread: Number(((onMain.user + onMain.system) / count).toFixed(3)),
    heldMs: { p50: quantile(held, 0.5), p99: quantile(held, 0.99), worst: quantile(held, 1) },
    loopDelayWorstMs: Number((loop.max / 1e6).toFixed(1)),
  });
}

const quantile = (values: number[], share: number) =>
  Number((values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0).toFixed(2));

now = start + HOUR_MS + 6 * 60_000;
const anHour = (monitorCount * REGIONS.length * HOUR_MS) / PERIOD_MS;
await measured('an hour', anHour, 'results');
now = midnight + 6 * 60_000;
await measured('the rest of the day and the day itself', monitorCount, 'monitors');

const histogram = emptyHistogram();
for (let turn = 0; turn < 2_880; turn += 1) addLatency(histogram, latencyOf(1, turn));
const blob = encodeHistogram(histogram);
await store.transaction(async (tx) => {
  const days = Array.from({ length: 89 }, (_, index) => midnight - (index + 2) * DAY_MS);
  for (const id of ids) {
    await tx.runEach(
      'INSERT INTO rollup_days VALUES (?, ?, ?, 2870, 5, 5, 0, ?)',
      days.flatMap((day) => REGIONS.map((region) => [id, day, region, blob])),
    );
    await tx.runEach(
      'INSERT INTO uptime_days VALUES (?, ?, 86000000, 0, 400000)',
      days.map((day) => [id, day]),
    );
  }
});
await delay(3_000);

async function timed(title: string, work: (turn: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let turn = 0; turn < 300; turn += 1) {
    const began = performance.now();
    await work(turn);
    times.push(performance.now() - began);
  }
  console.log(title, { p50: quantile(times, 0.5), p99: quantile(times, 0.99), worst: quantile(times, 1) });
}

const anyMonitor = (turn: number) => 1 + ((turn * 7_919) % monitorCount);
for (const range of Object.keys(SUMMARY_RANGES) as SummaryRange[]) {
  await timed(`summary of ${range}, ms`, (turn) => readSummary(store, anyMonitor(turn), range, now));
}
await timed('50 components × 90 days, ms', (turn) =>
  dailyTimes(
    store,
    Array.from({ length: 50 }, (_, index) => anyMonitor(turn * 50 + index)),
    90,
    now,
  ),
);
/**
 * Makes the data for the largest summaries: a change of status
 * with every slot of a week, and all regions for 400 days.
 */
await store.transaction(async (tx) => {
  const slots = Array.from(
    { length: (7 * DAY_MS) / PERIOD_MS },
    (_, index) => now - 7 * DAY_MS + index * PERIOD_MS,
  );
  await tx.runEach(
    `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
     VALUES (1, 'x', ?, 'majority-failed', ?, '[]')`,
    slots.map((at) => [at % (2 * PERIOD_MS) < PERIOD_MS ? 'error' : 'active', at]),
  );
  const days = Array.from({ length: 399 }, (_, index) => midnight - (index + 1) * DAY_MS);
  await tx.runEach('DELETE FROM rollup_days WHERE monitor_id = 1', [[]]);
  await tx.runEach(
    'INSERT INTO rollup_days VALUES (1, ?, ?, 2870, 5, 5, 0, ?)',
    days.flatMap((day) => ALL_REGIONS.map((region) => [day, region, blob])),
  );
});
for (const range of ['7d', '400d'] as const) {
  await timed(`the largest summary of ${range}, ms`, () => readSummary(store, 1, range, now));
}
await store.close();
await rm(directory, { recursive: true });
