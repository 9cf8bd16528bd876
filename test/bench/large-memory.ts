/**
 * Measures the memory of a coordinator with many monitors while it checks them:
 *
 *     node test/bench/large-memory.ts [monitors] [period] [regions] [seconds] [folder]
 *
 * The defaults are 100,000, 5m, 1 and 330. The coordinator and the agents run from their
 * bundles. Each 15 s the benchmark prints the coordinator's resident memory. A folder
 * keeps the database between runs. Such runs then show a start as well: the time until
 * the first job, and the peak of memory until then. SIGINT ends the benchmark early.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ALL_JOBS } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { buildService } from '../../deploy/build/services.ts';
import {
  AGENT_ENVIRONMENT,
  AGENT_FLAGS,
  COORDINATOR_ENVIRONMENT,
  COORDINATOR_FLAGS,
} from '../../deploy/local/node-flags.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { Program, ROOT } from '../support/process.ts';
import { Children } from './children.ts';
import { CHECKED_FROM, declaredMonitors } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { cpuMs, peakMiB } from './process-usage.ts';

const LOOK_MS = 15_000;

const [monitors = '100000', period = '5m', regionCount = '1', seconds = '330', kept] = process.argv.slice(2);
const regions = CHECKED_FROM.slice(0, Number(regionCount));
/** More flags of Node for the coordinator, for profiles. */
const flags = (process.env.COORDINATOR_FLAGS ?? '').split(' ').filter((flag) => flag !== '');

const ending = new AbortController();
process.once('SIGINT', () => ending.abort());
const children = new Children();
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'svc-large-memory-')));
await mkdir(folder, { recursive: true });
const nats = await startNatsServer();
const bus = await connectBus({ url: nats.url, name: 'bench', log: pino({ level: 'silent' }) });
const common = { SVC_NATS_URL: nats.url };
const agents = regions.map(
  (region) =>
    new Program(
      join(folder, 'agent.mjs'),
      { ...AGENT_ENVIRONMENT, ...common, SVC_REGION: region, SVC_DRAIN_MS: '2000' },
      AGENT_FLAGS,
    ),
);
const coordinator = new Program(
  join(folder, 'coordinator.mjs'),
  {
    ...COORDINATOR_ENVIRONMENT,
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('MALLOC_'))),
    ...common,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_CONFIG: join(folder, 'svc.json'),
  },
  [...COORDINATOR_FLAGS, ...flags],
);

/** Resident memory, MiB: the process's own pages, and pages of files. */
function memoryText(): string {
  const text = readFileSync(`/proc/${coordinator.pid}/status`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_024;
  const parts = `${mib('RssAnon').toFixed(0)} own, ${mib('RssFile').toFixed(0)} of files`;
  return `${mib('VmRSS').toFixed(0)} MiB (${parts}), peak ${peakMiB(coordinator.pid).toFixed(0)}`;
}

try {
  await Promise.all([buildService('coordinator', ROOT, folder), buildService('agent', ROOT, folder)]);
  // The target's port stays the same, so that the declaration does not change.
  const portFile = join(folder, 'target-port');
  const known = existsSync(portFile) ? await readFile(portFile, 'utf8') : '0';
  const target = await children.node('test/bench/target-process.ts', [known]);
  await writeFile(portFile, target.line);
  const declared = declaredMonitors(Number(monitors), Number(target.line), () => ({
    periodicity: period,
    regions,
  }));
  await writeFile(join(folder, 'svc.json'), JSON.stringify({ svc_http_monitor: declared }, null, 1));
  await Promise.all(agents.map((agent) => agent.start()));
  console.log(`${monitors} monitors, ${period}, ${regions.length} regions, ${machine()}`);
  const first = Promise.withResolvers<void>();
  let jobs = 0;
  const subscription = bus.subscribe(ALL_JOBS, ({ data }) => {
    jobs += Buffer.from(data).toString('latin1').split('"slot":').length - 1;
    if (jobs > 0) first.resolve();
  });
  await bus.flush();
  const began = performance.now();
  await coordinator.start();
  const readyMs = performance.now() - began;
  await first.promise;
  const firstMs = performance.now() - began;
  console.log(
    `ready after ${readyMs.toFixed(0)} ms, first job after ${firstMs.toFixed(0)} ms: ${memoryText()}`,
  );
  console.log(`coordinator ${coordinator.pid}`);
  while (performance.now() - began < Number(seconds) * 1_000 && !ending.signal.aborted) {
    const [jobsBefore, cpuBefore] = [jobs, cpuMs(coordinator.pid)];
    await delay(LOOK_MS, null, { signal: ending.signal }).catch(() => {});
    const perSecond = ((jobs - jobsBefore) / LOOK_MS) * 1_000;
    const cpu = (cpuMs(coordinator.pid) - cpuBefore) / LOOK_MS;
    const at = ((performance.now() - began) / 1_000).toFixed(0);
    console.log(`${at} s: ${memoryText()}; ${perSecond.toFixed(0)} jobs/s, CPU ${(cpu * 100).toFixed(0)} %`);
  }
  subscription.close();
} finally {
  for (const line of coordinator.lines.filter(({ pausedMs }) => pausedMs !== undefined))
    console.log(JSON.stringify(line));
  for (const line of coordinator.noise) console.log(line);
  await coordinator.end('SIGTERM');
  await Promise.all(agents.map((agent) => agent.end('SIGTERM')));
  await bus.close();
  await nats.dispose();
  await children.endAll();
  if (kept === undefined) await rm(folder, { recursive: true, force: true });
}
