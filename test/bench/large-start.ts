/**
 * Measures how soon a coordinator with many monitors publishes its first job, and its
 * peak of memory until then. Arguments: monitors (100,000), starts with an unchanged
 * declared file (3), starts with one more monitor in it (1), a folder that keeps the
 * database between runs, and the folder of another checkout whose coordinator is started.
 *
 * The benchmark fills a database once, until every monitor has had a slot; this takes some minutes.
 * Then it starts the coordinator and ends it with SIGTERM, again and again: with the unchanged declared
 * file, and with one more monitor in it. Only the target, one agent and NATS run at the same time.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ALL_JOBS } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { AGENT_FLAGS, COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from '../../deploy/local/node-flags.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { Program, ROOT } from '../support/process.ts';
import { Children } from './children.ts';
import { CHECKED_FROM, declaredMonitors, untilAllHaveBegunMs } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { cpuMs, median, peakMiB, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

/** Memory is measured once more after the first job. */
const SETTLED_AFTER_MS = 10_000;

const [monitors = 100_000, unchanged = 3, changed = 1] = process.argv.slice(2, 5).map(Number);
/**
 * The period is so short that some monitor is due at any moment,
 * and so long that one agent and a coordinator can do the checks.
 */
const [periodicity, PERIOD_MS] = monitors > 10_000 ? ['5m', 300_000] : ['30s', 30_000];
const [kept, root = ROOT] = process.argv.slice(5);
const [region = 'hosta-fra'] = CHECKED_FROM;

type Start = {
  readonly readyMs: number;
  readonly firstJobMs: number;
  /** CPU time until the first job, ms. */
  readonly cpuMs: number;
  readonly peakMiB: number;
  readonly settledMiB: number;
};

const children = new Children();
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'svc-large-start-')));
await mkdir(folder, { recursive: true });
const config = join(folder, 'svc.json');
const nats = await startNatsServer();
const bus = await connectBus({ url: nats.url, name: 'bench', log: pino({ level: 'silent' }) });
const common = { SVC_NATS_URL: nats.url };
const agent = new Program(
  'packages/agent/src/main.ts',
  { ...common, SVC_REGION: region, SVC_DRAIN_MS: '2000' },
  AGENT_FLAGS,
);
const coordinator = new Program(
  'packages/coordinator/src/main.ts',
  {
    ...COORDINATOR_ENVIRONMENT,
    ...common,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_DATA_DIR: folder,
    SVC_CONFIG: config,
  },
  COORDINATOR_FLAGS,
  root,
);

async function declare(count: number, port: number): Promise<void> {
  const declared = declaredMonitors(count, port, () => ({ periodicity, regions: [region] }));
  await writeFile(config, JSON.stringify({ svc_http_monitor: declared }, null, 1));
}

async function startOnce(): Promise<Start> {
  const first = Promise.withResolvers<number>();
  const subscription = bus.subscribe(ALL_JOBS, ({ data }) => {
    if (Buffer.from(data).includes('"kind":"jobs"')) first.resolve(performance.now());
  });
  await bus.flush();
  const began = performance.now();
  await coordinator.start();
  const readyMs = performance.now() - began;
  const firstJobMs = (await first.promise) - began;
  const usedMs = cpuMs(coordinator.pid);
  subscription.close();
  const peak = peakMiB(coordinator.pid);
  await delay(SETTLED_AFTER_MS);
  const settledMiB = residentMiB(coordinator.pid);
  return { readyMs, firstJobMs, cpuMs: usedMs, peakMiB: peak, settledMiB };
}

async function startsOf(
  name: string,
  starts: number,
  prepare: (round: number) => Promise<void>,
): Promise<string[]> {
  const done: Start[] = [];
  for (let round = 0; round < starts; round += 1) {
    await prepare(round);
    done.push(await startOnce());
    await coordinator.end('SIGTERM');
  }
  const middle = (of: (start: Start) => number) => median(done.map(of)).toFixed(0);
  return [
    name,
    middle(({ readyMs }) => readyMs),
    middle(({ firstJobMs }) => firstJobMs),
    middle((start) => start.cpuMs),
    middle(({ peakMiB }) => peakMiB),
    middle(({ settledMiB }) => settledMiB),
  ];
}

try {
  const portFile = join(folder, 'target-port');
  const known = existsSync(portFile) ? await readFile(portFile, 'utf8') : '0';
  const target = await children.node('test/bench/target-process.ts', [known]);
  await writeFile(portFile, target.line);
  const port = Number(target.line);
  await agent.start();
  if (!existsSync(join(folder, 'svc.db'))) {
    await declare(monitors, port);
    await startOnce();
    // The second slot of a monitor comes half a period after its first one at the earliest.
    await delay(untilAllHaveBegunMs(monitors) + PERIOD_MS / 2);
    await coordinator.end('SIGTERM');
  }
  console.log(machine());
  const rows = [
    await startsOf('unchanged', unchanged, async () => {}),
    await startsOf('one monitor more', changed, (round) => declare(monitors + round + 1, port)),
  ];
  console.log(
    formatTable(
      [
        `${monitors.toLocaleString('en')} monitors`,
        'ready ms',
        'first job ms',
        'CPU ms',
        'peak MiB',
        '10 s later MiB',
      ],
      rows,
    ),
  );
} finally {
  await coordinator.end('SIGTERM');
  await agent.end('SIGTERM');
  await bus.close();
  await nats.dispose();
  await children.endAll();
  if (kept === undefined) await rm(folder, { recursive: true, force: true });
}
