/**
 * A coordinator without monitors, from its bundle: size, time from the command to the readiness with a new data folder
 * and with one that is there, memory, and CPU at rest. Without a compile cache. Argument: seconds of rest (20).
 */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stop } from 'esbuild';
import { buildService } from '../../deploy/build/services.ts';
import { COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from '../../deploy/local/node-flags.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { Program, ROOT } from '../support/process.ts';
import { machine } from './machine.ts';
import { cpuMs, median, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const STARTS = 7;
const [seconds = 20] = process.argv.slice(2).map(Number);

const folder = await mkdtemp(join(tmpdir(), 'svc-idle-coordinator-'));
const nats = await startNatsServer();
const programs: Program[] = [];

/** Starts the coordinator, and resolves with it and the ms until it is ready. */
async function started(bundle: string, dataDir: string): Promise<[program: Program, ms: number]> {
  const environment = {
    ...COORDINATOR_ENVIRONMENT,
    NODE_DISABLE_COMPILE_CACHE: '1',
    SVC_NATS_URL: nats.url,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_DATA_DIR: join(folder, dataDir),
  };
  const program = new Program(bundle, environment, COORDINATOR_FLAGS);
  programs.push(program);
  const startedAt = performance.now();
  await program.start();
  return [program, performance.now() - startedAt];
}

/** @param dataDirOf the data folder of each start */
async function startMs(bundle: string, dataDirOf: (start: number) => string): Promise<string> {
  const times: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const [program, ms] = await started(bundle, dataDirOf(start));
    times.push(ms);
    await program.end('SIGTERM');
  }
  return median(times).toFixed(0);
}

try {
  await buildService('coordinator', ROOT, folder);
  await stop();
  const bundle = join(folder, 'coordinator.mjs');
  console.log(machine());
  const first = await startMs(bundle, (start) => `new-${start}`);
  const again = await startMs(bundle, () => 'new-0');
  const [{ pid }] = await started(bundle, 'new-0');
  await delay(10_000);
  const before = cpuMs(pid);
  await delay(seconds * 1_000);
  const cpu = ((cpuMs(pid) - before) / seconds).toFixed(2);
  const size = ((await stat(bundle)).size / 1e6).toFixed(1);
  const titles = ['', 'MB', 'first start ms', 'later start ms', 'MiB', 'CPU ms/s'];
  const row = ['bundle', size, first, again, residentMiB(pid).toFixed(0), cpu];
  console.log(formatTable(titles, [row]));
} finally {
  await Promise.all(programs.map((program) => program.end('SIGKILL')));
  await nats.dispose();
  await rm(folder, { recursive: true, force: true });
}
