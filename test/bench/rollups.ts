/**
 * CPU of rolling up one result, how long it holds the scheduling thread, and how long summaries and the
 * bars of a status page take afterwards, on a real database file. Every monitor is checked from three regions every 30 s.
 *
 *   node test/bench/rollups.ts [monitors] [minutes of results]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { addLatency, emptyHistogram, encodeHistogram } from '@svc/coordinator/domain/latency-histogram.ts';
import { phaseOf } from '@svc/coordinator/domain/schedule.ts';
import { DAY_MS, HOUR_MS, SUMMARY_RANGES, type SummaryRange } from '@svc/coordinator/domain/summary-range.ts';
import { dailyTimes } from '@svc/coordinator/rollups/daily-times.ts';
import { Rollups } from '@svc/coordinator/rollups/rollups.ts';
import { readSummary } from '@svc/coordinator/rollups/summary.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { REGIONS as ALL_REGIONS } from '@svc/shared/regions.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const PERIOD_MS = 30_000;
const [monitorCount = 10_000, minutes = 80] = process.argv.slice(2).map(Number);

const directory = await mkdtemp(join(tmpdir(), 'svc-bench-rollups-'));
const log = createLogger('bench', 'warn');
const store = await openStore({ path: join(directory, 'svc.db'), log });
const midnight = Date.UTC(2026, 0, 15);
const start = midnight - 2 * HOUR_MS;
let now = start;

await store.transaction(({ sqlite }) => {
  sqlite.exec("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'bench', 0) ON CONFLICT DO NOTHING");
  const insert = sqlite.prepare(`INSERT INTO monitors (id, workspace_id, type, name, active, attributes,
    activated_at, created_at, updated_at) VALUES (?, 1, 'http', 'bench', 1, '{}', 0, 0, 0)`);
  const change =
    sqlite.prepare(`INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
    VALUES (?, 'unknown', 'active', 'all-passed', ?, '[]')`);
  for (let id = 1; id <= monitorCount; id += 1) {
    insert.run(id);
    change.run(id, start);
  }
});

const order = Array.from({ length: monitorCount }, (_, index) => index + 1).sort(
  (a, b) => phaseOf(a, PERIOD_MS) - phaseOf(b, PERIOD_MS),
);
const latencyOf = (id: number, turn: number) => 40 + (id % 50) + ((turn * 7 + id) % 30);

/** Half a minute of all monitors: rows as the recorder writes them. */
async function addPeriod(at: number): Promise<void> {
  await store.transaction(({ sqlite }) => {
    const insert = sqlite.prepare(`INSERT INTO results (slot, monitor_id, region, outcome, version, latency,
      status_code, detail, agent, recorded_at) VALUES (?, ?, ?, 'passed', 1, ?, 200, ?, 'agent-1', ?)`);
    const detail = '{"started_at":12,"phases":[0.5,1,3,5,40.1]}';
    for (const id of order) {
      const slot = at + phaseOf(id, PERIOD_MS);
      const latency = latencyOf(id, at / PERIOD_MS);
      for (const region of REGIONS) insert.run(slot, id, region, latency, detail, slot + 100);
    }
  });
}

for (let at = start; at < start + minutes * 60_000; at += PERIOD_MS) {
  await addPeriod(at);
}
await delay(1_500);

/** ms that the work of a transaction holds the scheduling thread, its COMMIT apart. */
const held: number[] = [];
const rollups = await Rollups.load({
  store: {
    ...store,
    read: store.read,
    close: () => store.close(),
    transaction: (work) =>
      store.transaction((tx) => {
        const began = performance.now();
        const done = work(tx);
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

await store.transaction(({ sqlite }) => {
  const histogram = emptyHistogram();
  for (let turn = 0; turn < 2_880; turn += 1) addLatency(histogram, latencyOf(1, turn));
  const blob = encodeHistogram(histogram);
  const insert = sqlite.prepare('INSERT INTO rollup_days VALUES (?, ?, ?, 2870, 5, 5, 0, ?)');
  const uptime = sqlite.prepare('INSERT INTO uptime_days VALUES (?, ?, 86000000, 0, 400000)');
  for (let id = 1; id <= monitorCount; id += 1) {
    for (let day = 2; day <= 90; day += 1) {
      for (const region of REGIONS) insert.run(id, midnight - day * DAY_MS, region, blob);
      uptime.run(id, midnight - day * DAY_MS);
    }
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
/** The most that a summary can be of: a change with every slot of a week, and every region for 400 days. */
await store.transaction(({ sqlite }) => {
  const change =
    sqlite.prepare(`INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
    VALUES (1, 'x', ?, 'majority-failed', ?, '[]')`);
  for (let at = now - 7 * DAY_MS; at < now; at += PERIOD_MS) {
    change.run(at % (2 * PERIOD_MS) < PERIOD_MS ? 'error' : 'active', at);
  }
  const day = sqlite.prepare(`INSERT OR REPLACE INTO rollup_days
    SELECT 1, ?, ?, passed, degraded, failed, not_run, latency FROM rollup_days WHERE monitor_id = 2 LIMIT 1`);
  for (let index = 1; index < 400; index += 1) {
    for (const region of ALL_REGIONS) day.run(midnight - index * DAY_MS, region);
  }
});
for (const range of ['7d', '400d'] as const) {
  await timed(`the largest summary of ${range}, ms`, () => readSummary(store, 1, range, now));
}
await store.close();
await rm(directory, { recursive: true });
