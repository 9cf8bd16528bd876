/**
 * Measures the CPU that the coordinator spends per job on scheduling, publishing and handling the acceptance,
 * without recording: `node test/bench/dispatch.ts [monitors] [seconds] [ahead]`. There are three regions,
 * periods of 30 s, and a real nats-server. The agents accept everything at once and run in a process of their
 * own. With `ahead` they take large batches, and jobs ahead of their slots, as agents of this version do.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gridSlotUntil, phaseOf } from '@svc/coordinator/domain/schedule.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import type { Bus } from '@svc/shared/bus.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { AGENT_UNDERSTANDS } from '@svc/shared/messages/heartbeat.ts';
import { agentsSubject, jobsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { temporaryFolder } from '../support/configured-store.ts';
import { EAST, FRA, liveMonitor, log, PAR } from '../support/coordinator/dispatch-parts.ts';
import { Rig } from '../support/coordinator/dispatch-rig.ts';
import { startNatsServer } from '../support/nats-server.ts';

const REGIONS = [FRA, PAR, EAST];
const PERIOD_MS = 30_000;
/** Time for which an agent holds a job: a usual probe and its report, ms. */
const HELD_MS = 150;
/** When its result counts as recorded. */
const RECORDED_MS = 250;
const CHECK = {
  type: 'http',
  url: 'https://api.example.com/health?with=some&more=text',
  method: 'GET',
  headers: [
    { key: 'Accept', value: 'application/json' },
    { key: 'X-Api-Key', value: '0123456789abcdef0123456789abcdef' },
  ],
  body: '',
  follow_redirects: true,
  status_code_assertions: [{ target: 200, comparator: 'eq' }],
  body_assertions: [{ target: '"status":"ok"', comparator: 'contains' }],
  header_assertions: [],
  timeout: 10_000,
  retry: 3,
  degraded_at: 800,
};

type Key = [monitor: number, slot: number];

/** The process of the agents. It accepts every job and holds it for a while. */
async function runAgents(url: string, isAhead: boolean): Promise<void> {
  const bus = await connectBus({ url, name: 'agents', log });
  for (const region of REGIONS) runAgent(bus, region, isAhead);
  await bus.flush();
  process.send?.('ready');
}

function runAgent(bus: Bus, region: Region, isAhead: boolean): void {
  const agent = `bench-${region}`;
  const held = new Set<Key>();
  bus.subscribe(jobsSubject(region), ({ data }) => {
    const { batch, jobs } = JSON.parse(Buffer.from(data).toString());
    const accepted: Key[] = jobs.map(({ monitor, slot }: { monitor: number; slot: number }) => [
      monitor,
      slot,
    ]);
    bus.publish(
      agentsSubject(region),
      JSON.stringify({ v: 1, kind: 'acceptance', agent, batch, accepted, refused: [] }),
    );
    for (const key of accepted) held.add(key);
    setTimeout(() => {
      for (const key of accepted) held.delete(key);
    }, HELD_MS);
  });
  const beat = (): void =>
    bus.publish(
      agentsSubject(region),
      JSON.stringify({
        v: 1,
        kind: 'heartbeat',
        agent,
        version: '0',
        capacity: 4_000,
        running: held.size,
        held: [...held],
        loop_delay_ms: 0,
        clock: Date.now(),
        started_at: 0,
        draining: false,
        understands: isAhead ? AGENT_UNDERSTANDS : [],
      }),
    );
  setInterval(beat, 2_000);
  setTimeout(beat, 100);
}

async function measure(monitorCount: number, seconds: number, mode: string): Promise<void> {
  const server = await startNatsServer();
  const folder = await temporaryFolder();
  const store = await openStore({ path: join(folder.path, 'svc.db'), log });
  const bus = await connectBus({ url: server.url, name: 'coordinator', log });
  const now = Date.now();
  const monitors = Array.from({ length: monitorCount }, (_, index) =>
    liveMonitor(index + 1, {
      regions: REGIONS,
      checkText: new Secret(JSON.stringify(CHECK)),
      degradedAtMs: 0,
      longestCheckMs: 45_000,
    }),
  );
  // The state is that after a restart, so that the measurement does not begin with first slots.
  const newest = Object.fromEntries(
    monitors.map(({ id }) => [id, gridSlotUntil(now, PERIOD_MS, phaseOf(id, PERIOD_MS))]),
  );
  const rig = new Rig({ store, bus, clock: systemClock, monitors, newest });
  const starting = rig.dispatch.start();
  const agents = fork(import.meta.filename, ['agents', server.url, mode]);
  const lateness: number[] = [];
  const running: { id: number; slot: number; recordedAt: number }[] = [];
  let isMeasuring = false;
  rig.sink.opened = ({ id }, slot) => {
    running.push({ id, slot, recordedAt: performance.now() + RECORDED_MS });
    if (isMeasuring) lateness.push(rig.slotClock.now() - slot);
  };
  const recording = setInterval(() => {
    const count = running.findIndex(({ recordedAt }) => recordedAt > performance.now());
    for (const { id, slot } of running.splice(0, count < 0 ? running.length : count)) {
      for (const region of REGIONS)
        rig.dispatch.settled({ monitorId: id, slot: slot, region: region, is: 'reported', timedOut: false });
    }
  }, 50);
  await once(agents, 'message');
  await starting;
  await delay(3_000);
  isMeasuring = true;
  const before = structuredClone(rig.dispatch.counters);
  const cpu = process.cpuUsage();
  await delay(seconds * 1_000);
  const used = process.cpuUsage(cpu);
  const { counters } = rig.dispatch;
  const reoffers = counters.offers.repeated - before.offers.repeated;
  const jobs = counters.offers.first - before.offers.first + reoffers;
  const cpuMs = (used.user + used.system) / 1_000;
  lateness.sort((a, b) => a - b);
  const at = (share: number) => Math.round(lateness[Math.floor(lateness.length * share)] ?? 0);
  console.log(
    JSON.stringify({
      monitors: monitorCount,
      mode: mode || 'as version 0.1',
      userMsPerSecond: Number((used.user / 1_000 / seconds).toFixed(1)),
      systemMsPerSecond: Number((used.system / 1_000 / seconds).toFixed(1)),
      jobsPerSecond: Math.round(jobs / seconds),
      jobsPerBatch: Math.round(jobs / (counters.messages - before.messages)),
      cpuMicrosPerJob: Number(((cpuMs * 1_000) / jobs).toFixed(2)),
      slotToTickMs: { p50: at(0.5), p99: at(0.99) },
      reoffers,
      skipped: counters.jobsSkipped['predecessor-running'] - before.jobsSkipped['predecessor-running'],
      missed: counters.slots.missed - before.slots.missed,
      rssMiB: Math.round(process.memoryUsage.rss() / 2 ** 20),
    }),
  );
  clearInterval(recording);
  await rig.dispatch.stop();
  await stopped(agents);
  await bus.close();
  await store.close();
  await server.dispose();
  await folder.remove();
}

async function stopped(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill();
  await exit;
}

const [first = '20000', second = '10', mode = ''] = process.argv.slice(2);
if (first === 'agents') await runAgents(second, mode === 'ahead');
else await measure(Number(first), Number(second), mode);
