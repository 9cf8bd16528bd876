/**
 * Measures the CPU of recording one result on a real database: parsing the message, checking the
 * token, rows, votes, verdict, state and position. It also measures the memory of the evaluation's states.
 * A PostgreSQL server has its data in memory.
 *
 * node --expose-gc test/bench/recorder.ts [monitors] [results per second, 0: as fast as it goes] [seconds]
 *   [sqlite or postgres]
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { JobTokens } from '@svc/coordinator/checks/job-tokens.ts';
import { parseResults } from '@svc/coordinator/checks/parse-results.ts';
import { Recorder } from '@svc/coordinator/checks/recorder.ts';
import { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { openPostgres } from '@svc/coordinator/store/postgres/open-postgres.ts';
import { createRecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { gridSlotUntil, phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import { States } from '@svc/coordinator/verdict/state.ts';
import { createLogger } from '@svc/shared/log.ts';
import { resultsSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import pg from 'pg';
import { startPostgres } from '../support/postgres-server.ts';
import { loneParts, storeMonitors } from './lone-recorder.ts';
import { familyCpuMs } from './process-usage.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const PERIOD_MS = 30_000;
const [monitorCount = 1_000, rate = 0, seconds = 4] = process.argv.slice(2).map(Number);

const directory = await mkdtemp(join(tmpdir(), 'svc-bench-recorder-'));
const log = createLogger('bench', 'warn');
const postgres = process.argv[5] === 'postgres' ? await startPostgres() : null;
await postgres?.run('CREATE DATABASE svc');
const store = await (postgres === null
  ? openStore({ path: join(directory, 'svc.db'), log })
  : openPostgres({ url: postgres.url('svc'), log }));
/** Round trips to the server so far. */
let roundTrips = 0;
const { sync } = pg.Connection.prototype;
pg.Connection.prototype.sync = function () {
  roundTrips += 1;
  sync.call(this);
};
const monitors = new Map<number, LiveMonitor>();
for (let id = 1; id <= monitorCount; id += 1) monitors.set(id, monitorOf(id));
await storeMonitors(store, monitors.keys());

const tokens = new JobTokens(new Secret(Buffer.alloc(32, 7)));
let slotNow = Math.floor(Date.now() / PERIOD_MS) * PERIOD_MS;
const states = new States();
const recorder = new Recorder({
  store: createRecordingStore(store, new Secrets(Buffer.alloc(32, 1))),
  states,
  ...loneParts(monitors, REGIONS, () => slotNow),
  tokens,
  log,
});
await recorder.load();
recorder.endResumption();

/**
 * The monitors in the order in which they are due. Slots are
 * spread by a hash, so that neighbours in time have distant ids.
 */
const order = [...monitors.keys()].sort((a, b) => phaseOf(a, PERIOD_MS) - phaseOf(b, PERIOD_MS));

let sequence = 0;
/**
 * The messages of agents for the slots of all monitors in the
 * period that ends at `until`, with up to 64 results each.
 */
function messagesOf(until: number): { subject: string; data: Uint8Array }[] {
  const batchSize = rate === 0 ? 64 : Math.max(1, Math.min(64, Math.round((rate / 3) * 0.05)));
  const messages: { subject: string; data: Uint8Array }[] = [];
  for (let first = 1; first <= monitorCount; first += batchSize) {
    for (const region of REGIONS) {
      const results: unknown[] = [];
      for (let id = first; id < Math.min(first + batchSize, monitorCount + 1); id += 1) {
        const monitor = order[id - 1] ?? id;
        results.push(resultOf(monitor, region, gridSlotUntil(until, PERIOD_MS, phaseOf(monitor, PERIOD_MS))));
      }
      const batch = { v: 1, agent: 'agent-1', results };
      messages.push({ subject: resultsSubject(region), data: Buffer.from(JSON.stringify(batch)) });
    }
  }
  return messages;
}

/** A result with its members in the order in which agents write them. */
function resultOf(monitor: number, region: Region, slot: number) {
  const latency = 10 + (monitor % 50) + 0.5;
  return {
    monitor,
    version: 1,
    slot,
    token: tokens.tokenOf(monitor, region, slot),
    outcome: 'passed',
    started_at: slot + 12,
    attempts: [{ outcome: 'passed', started_ms: 0, latency, status_code: 200 }],
    latency,
    phases: { dns: 0.5, connect: 1, tls: 3, first_byte: 5, transfer: latency - 9.5 },
    status_code: 200,
  };
}

function monitorOf(id: number): LiveMonitor {
  return {
    id,
    workspaceId: 1,
    type: 'http',
    name: `Monitor ${id}`,
    target: 'http://127.0.0.1/',
    active: true,
    periodMs: PERIOD_MS,
    regions: REGIONS,
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 46_000,
    activatedAt: 0,
    checkText: new Secret('{}'),
    declaredExport: null,
  };
}

/**
 * Time in which the threads finish their work after the last commit, ms. A checkpoint may come later: see
 * `checkpoints.ts`.
 */
const SETTLE_MS = 1_500;
/** Shortest warm-up at full speed, ms. Every monitor gets its first status in it. */
const WARM_UP_MS = 3_000;
const warmUpEnds = performance.now() + WARM_UP_MS;
do {
  await recordPeriod(0, Number.POSITIVE_INFINITY);
} while (performance.now() < warmUpEnds);
await delay(SETTLE_MS);

const serverCpuMs = () => (postgres === null ? 0 : familyCpuMs(postgres.pid));
const serverBefore = serverCpuMs();
const tripsBefore = roundTrips;
const batchesBefore = recorder.counts.transactions;
let cpuMs = 0;
let threadMs = 0;
let wallMs = 0;
let measured = 0;
const end = performance.now() + seconds * 1_000;
while (performance.now() < end) await measurePeriod();
const settling = process.cpuUsage();
await delay(SETTLE_MS);
const settled = process.cpuUsage(settling);
cpuMs += (settled.user + settled.system) / 1_000;

const serverMs = serverCpuMs() - serverBefore;
const trips = roundTrips - tripsBefore;
const batches = recorder.counts.transactions - batchesBefore;

async function measurePeriod(): Promise<void> {
  const resultsBefore = recorder.counts.results;
  const used = await recordPeriod(rate, end);
  cpuMs += used.cpuMs;
  threadMs += used.threadMs;
  wallMs += used.wallMs;
  measured += recorder.counts.results - resultsBefore;
}

/**
 * Records one slot of every monitor, or fewer if `until`
 * comes first. `pace`: results per second; 0: no limit.
 */
async function recordPeriod(pace: number, until: number) {
  slotNow += PERIOD_MS;
  const messages = messagesOf(slotNow);
  const opened = new Set<number>();
  const before = process.cpuUsage();
  const threadBefore = process.threadCpuUsage();
  const started = performance.now();
  let sent = 0;
  for (const { subject, data } of messages) {
    sequence += 1;
    const parsed = await parseResults({ sequence, subject, data, time: slotNow, messageId: `m${sequence}` });
    if (typeof parsed === 'string') throw new Error(parsed);
    for (const { monitor, slot } of parsed.results) {
      if (opened.has(monitor)) continue;
      opened.add(monitor);
      const live = monitors.get(monitor);
      if (live !== undefined) recorder.opened(live, slot, REGIONS);
    }
    sent += parsed.results.length;
    await recorder.recordMessage({
      ...parsed,
      position: { stream: 'bench', created: 'bench', sequence, messageId: `m${sequence}`, time: slotNow },
    });
    if (pace > 0) {
      const ahead = (sent / pace) * 1_000 - (performance.now() - started);
      if (ahead > 1) await delay(ahead);
    }
    if (performance.now() > until) break;
  }
  await recorder.flushed();
  const used = process.cpuUsage(before);
  const thread = process.threadCpuUsage(threadBefore);
  return {
    cpuMs: (used.user + used.system) / 1_000,
    threadMs: (thread.user + thread.system) / 1_000,
    wallMs: performance.now() - started,
  };
}

const { results, transactions, duplicates } = recorder.counts;
globalThis.gc?.();
console.log({
  monitors: monitorCount,
  results,
  duplicates,
  transactions,
  perSecond: Math.round(measured / (wallMs / 1000)),
  cpuMicrosecondsPerResult: Number(((cpuMs * 1000) / measured).toFixed(2)),
  ofThemOnTheMainThread: Number(((threadMs * 1000) / measured).toFixed(2)),
  serverMicrosecondsPerResult: Number(((serverMs * 1000) / measured).toFixed(2)),
  resultsPerBatch: Number((measured / batches).toFixed(1)),
  roundTripsPerBatch: Number((trips / batches).toFixed(2)),
  heapMiB: Math.round(process.memoryUsage().heapUsed / 1_048_576),
  statesHeld: states.size,
});
await recorder.stop();
await store.close();
await postgres?.dispose();
await rm(directory, { recursive: true });
