/**
 * One run of `otlp.ts`. It records results at a rate, exports them or not, and prints its figures as JSON.
 *
 *   otlp-process.ts CHECKS_PER_SECOND SECONDS SPEED TAKING_PORT HANGING_PORT [none]
 *
 * With `none` nothing is exported. A monitor fails or recovers each second, and a webhook on the first port
 * is alerted.
 *
 * OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf: in protobuf. Without it in JSON.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { JobTokens } from '@svc/coordinator/checks/job-tokens.ts';
import { Recorder } from '@svc/coordinator/checks/recorder.ts';
import { MetricsExport } from '@svc/coordinator/export/metrics-export.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { createRecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { ONLY_SHARD } from '@svc/coordinator/verdict/shard.ts';
import { States } from '@svc/coordinator/verdict/state.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { NO_EXPORT_SETTINGS } from '../support/export-settings.ts';
import { loneParts, storeMonitors } from './lone-recorder.ts';
import { OneWebhook } from './one-webhook.ts';
import { percentile, residentMiB } from './process-usage.ts';
import { threadsSince, threadTimes } from './thread-times.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const ENDPOINTS = 50;
const HANGING = 10;
/** Periods of the service at speed 1, ms: of checks, of exports, and of storing totals. */
const [CHECKED_MS, EXPORTED_MS, SAVED_MS] = [30_000, 60_000, 600_000];
/** Interval of the messages with results, ms. */
const TICK_MS = 50;

const [rate = 0, seconds = 0, speed = 1] = process.argv.slice(2, 5).map(Number);
const [taking, hanging] = process.argv.slice(5, 7).map(Number);
const isExported = process.argv[7] !== 'none';
const periodMs = CHECKED_MS / speed;
const monitorCount = Math.round((rate * periodMs) / 1_000 / REGIONS.length);

const directory = await mkdtemp(join(tmpdir(), 'svc-bench-otlp-'));
const log = createLogger('bench', 'warn');
const store = await openStore({ path: join(directory, 'svc.db'), log });
const monitors = new Map<number, LiveMonitor>();
for (let id = 1; id <= monitorCount; id += 1) monitors.set(id, monitorOf(id));
await storeMonitors(store, monitors.keys());

const live = {
  get size() {
    return monitors.size;
  },
  get: (id: number) => monitors.get(id),
  values: () => monitors.values(),
  onChange: () => () => {},
};
const metricsExport = new MetricsExport({
  shard: ONLY_SHARD,
  store,
  monitors: live,
  settings: {
    ...NO_EXPORT_SETTINGS,
    encoding: process.env.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/protobuf' ? 'protobuf' : 'json',
    intervalMs: EXPORTED_MS / speed,
    saveEveryMs: SAVED_MS / speed,
  },
  createPost: () =>
    createHttpPost({
      clock: systemClock,
      guard: createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.0/8'] }),
      timeoutMs: NO_EXPORT_SETTINGS.timeoutMs,
    }),
  clock: systemClock,
  log,
});
await metricsExport.load();
const tokens = new JobTokens(new Secret(Buffer.alloc(32, 7)));
const base = Math.floor(Date.now() / CHECKED_MS) * CHECKED_MS;
let slotNow = base;
let slowestMs = 0;
/** Measures the delay of the event loop. Everything on the main thread adds to it. */
const loopDelay = monitorEventLoopDelay({ resolution: 10 });
const secrets = new Secrets(Buffer.alloc(32, 1));
/**
 * Every monitor with a number that is a multiple of this fails in every
 * second round, so that one monitor a second begins or stops failing.
 */
const FAILING_EVERY = Math.max(1, Math.round(rate / REGIONS.length));
const fails = (monitor: number) => monitor % FAILING_EVERY === 0;
const webhook = await OneWebhook.linked(
  { store, secrets, log },
  [...monitors.keys()].filter(fails),
  `http://127.0.0.1:${taking}/hook`,
);
const recording = createRecordingStore(store, secrets);
const recorder = new Recorder({
  store: {
    ...recording,
    async record(batch) {
      const began = performance.now();
      const isQueued = await recording.record(batch);
      slowestMs = Math.max(slowestMs, performance.now() - began);
      return isQueued;
    },
  },
  states: new States(),
  ...loneParts(monitors, REGIONS, () => slotNow),
  tokens,
  exports: metricsExport,
  onQueued: (delivery) => webhook.queued(delivery),
  log,
});
await recorder.load();
recorder.endResumption();
metricsExport.start();

/** Time from the report to the commit of each message, ms. */
const recordedMs: number[] = [];
const unrecorded = new Map<number, number>();
recorder.onPosition(({ stream, sequence: until }) => {
  for (const [number, handedAt] of unrecorded) {
    if (number > until) break;
    if (REGIONS[(number - 1) % REGIONS.length] !== stream) continue;
    recordedMs.push(performance.now() - handedAt);
    unrecorded.delete(number);
  }
});

/**
 * CPU time of the threads per check since the beginning of the measurement, µs, by the name of the thread.
 */
function threadsUs(): Record<string, number> {
  const since = threadsSince(threads, threadTimes('self'));
  return Object.fromEntries(
    [...since].map(([name, { ms }]) => [name, Number(((ms * 1_000) / recorded).toFixed(2))]),
  );
}

function monitorOf(id: number): LiveMonitor {
  const port = id % ENDPOINTS < HANGING ? hanging : taking;
  return {
    id,
    workspaceId: 1,
    type: 'http',
    name: `Monitor ${id} of the benchmark`,
    target: `https://host-${id}.example.com/health`,
    active: true,
    periodMs: CHECKED_MS,
    regions: REGIONS,
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 46_000,
    activatedAt: 0,
    checkText: new Secret('{}'),
    declaredExport: isExported
      ? {
          endpoint: new Secret(`http://127.0.0.1:${port}/v1/metrics`),
          headers: new Secret({ 'x-tenant': String(id % ENDPOINTS) }),
        }
      : null,
  };
}

/** The outcome of a slot: some monitors fail in every second round. */
function outcomeOf(monitor: number, slot: number): 'passed' | 'failed' {
  const isOdd = ((slot - base) / CHECKED_MS) % 2 === 1;
  return isOdd && fails(monitor) ? 'failed' : 'passed';
}

/** Makes a result. The monitors are HTTP, TCP and DNS monitors in turn, with 5, 2 and 1 phases. */
function resultOf(monitor: number, region: Region, slot: number): CheckResult {
  const latency = Math.round((10 + (monitor % 50) + Math.random() * 20) * 10) / 10;
  const phases = [
    { dns: 0.5, connect: latency / 8, tls: latency / 4, first_byte: latency / 2, transfer: 0.3 },
    { dns: 0.5, connect: latency },
    { dns: latency },
  ][monitor % 3];
  const outcome = outcomeOf(monitor, slot);
  const status = monitor % 3 === 0 ? { status_code: outcome === 'passed' ? 200 : 503 } : {};
  const error = outcome === 'passed' ? {} : { error_message: 'the target of the benchmark fails' };
  return {
    monitor,
    version: 1,
    slot,
    token: tokens.tokenOf(monitor, region, slot),
    outcome,
    started_at: slot + 12,
    latency,
    phases: phases ?? {},
    ...status,
    ...error,
    attempts: [{ outcome, started_ms: 0, latency, ...status, ...error }],
  };
}

const spread = (values: readonly number[]) => ({
  p50: Number(percentile(values, 0.5).toFixed(1)),
  p99: Number(percentile(values, 0.99).toFixed(1)),
  most: Number(percentile(values, 1).toFixed(1)),
});

let sequence = 0;
let recorded = 0;
/**
 * Records results for this time. The monitors are due one
 * after the other, with the slot of the present round.
 */
async function record(durationMs: number): Promise<void> {
  const began = performance.now();
  let due = 0;
  while (performance.now() - began < durationMs) {
    const until = Math.floor((((performance.now() - began) / 1_000) * rate) / REGIONS.length);
    while (due < until) {
      const ids: number[] = [];
      for (; due < until && ids.length < 64; due += 1) ids.push(next());
      for (const id of ids) recorder.opened(monitors.get(id) as LiveMonitor, slotNow, REGIONS);
      for (const region of REGIONS) {
        sequence += 1;
        const results = ids.map((id) => resultOf(id, region, slotNow));
        recorded += results.length;
        // The second of three regions makes the majority.
        if (region === REGIONS[1])
          for (const id of ids) if (fails(id)) webhook.reported(id, outcomeOf(id, slotNow));
        unrecorded.set(sequence, performance.now());
        const position = { stream: region, created: 'b', sequence, messageId: `m${sequence}`, time: slotNow };
        await recorder.recordMessage({ region, agent: 'agent-1', results, position });
      }
    }
    await delay(TICK_MS);
  }
  await recorder.flushed();
}

let turn = 0;
function next(): number {
  const id = (turn % monitorCount) + 1;
  turn += 1;
  slotNow = base + Math.floor(turn / monitorCount) * CHECKED_MS;
  return id;
}

// The warm-up lasts three intervals of exports and 5 s, because V8 compiles
// the code of the encoding again after it has run for a while.
await record((3 * EXPORTED_MS) / speed + 5_000);
slowestMs = 0;
recorded = 0;
recordedMs.length = 0;
webhook.tookMs.length = 0;
const resident = () => Math.round(residentMiB(process.pid));
const memory = { beginMiB: resident(), mostMiB: 0, endMiB: 0 };
const watch = setInterval(() => {
  memory.mostMiB = Math.max(memory.mostMiB, resident());
}, 250);
loopDelay.enable();
const threads = threadTimes('self');
const cpu = process.cpuUsage();
const thread = process.threadCpuUsage();
const began = performance.now();
await record(seconds * 1_000);
const used = process.cpuUsage(cpu);
const main = process.threadCpuUsage(thread);
const { taken, dropped } = metricsExport.points;
const per = (micros: { user: number; system: number }) =>
  Number(((micros.user + micros.system) / recorded).toFixed(2));
clearInterval(watch);
memory.endMiB = resident();
process.stdout.write(
  `${JSON.stringify({
    cpuUs: per(used),
    mainThreadUs: per(main),
    threadsUs: threadsUs(),
    memory,
    recordedAfterMs: spread(recordedMs),
    loopDelayMs: {
      p50: Number((loopDelay.percentile(50) / 1e6).toFixed(1)),
      p99: Number((loopDelay.percentile(99) / 1e6).toFixed(1)),
      most: Number((loopDelay.max / 1e6).toFixed(1)),
    },
    webhookAfterMs: { alerts: webhook.tookMs.length, ...spread(webhook.tookMs) },
    recordedPerSecond: Math.round((recorded / (performance.now() - began)) * 1_000),
    slowestCommitMs: Math.round(slowestMs),
    monitors: monitorCount,
    taken,
    dropped,
    endpoints: metricsExport.endpoints.length,
    failing: metricsExport.endpoints.filter(({ isFailing }) => isFailing).length,
    bufferedKiB: Math.round(
      metricsExport.endpoints.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0) / 1_024,
    ),
  })}\n`,
);
metricsExport.stop();
await webhook.stop();
await recorder.stop();
await store.close();
await rm(directory, { recursive: true });
