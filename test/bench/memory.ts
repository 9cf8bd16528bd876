/**
 * Measures the memory of processes that have little to do: an agent without jobs, and a
 * coordinator with 1,000 monitors that are checked from three regions every 30 s. Both run
 * from the bundles and from the sources, with a warm compile cache: each is started once
 * before, and ended with SIGTERM. Argument: seconds from the start to the measurement (90).
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
import { peakMiB, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const MONITORS = 1_000;
const [seconds = 90] = process.argv.slice(2).map(Number);

const folder = await mkdtemp(join(tmpdir(), 'svc-memory-'));
const children = new Children();
const programs: Program[] = [];
const nats = await startNatsServer();
const NODE_COMPILE_CACHE = join(folder, 'compiled');
const common = { SVC_NATS_URL: nats.url, NODE_COMPILE_CACHE };

/** A service from its bundle or its sources. */
type Origin = 'bundle' | 'sources';
const fileOf = (service: 'agent' | 'coordinator', origin: Origin) =>
  origin === 'bundle' ? join(folder, `${service}.mjs`) : join(ROOT, `packages/${service}/src/main.ts`);

function programOf(...made: ConstructorParameters<typeof Program>): Program {
  const program = new Program(...made);
  programs.push(program);
  return program;
}

function agentOf(origin: Origin, region: string): Program {
  const environment = { ...AGENT_ENVIRONMENT, ...common, SVC_REGION: region, SVC_DRAIN_MS: '1000' };
  return programOf(fileOf('agent', origin), environment, AGENT_FLAGS);
}

function coordinatorOf(origin: Origin): Program {
  const environment = {
    ...COORDINATOR_ENVIRONMENT,
    ...common,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_CONFIG: join(folder, 'svc.json'),
  };
  return programOf(fileOf('coordinator', origin), environment, COORDINATOR_FLAGS);
}

/** Starts a program, waits, measures its memory, and ends it with SIGTERM. */
async function looked(name: string, program: Program, waitMs: number): Promise<string[]> {
  await program.start();
  await delay(waitMs);
  const row = [name, residentMiB(program.pid).toFixed(0), peakMiB(program.pid).toFixed(0)];
  await program.end('SIGTERM');
  return row;
}

try {
  await Promise.all([buildService('coordinator', ROOT, folder), buildService('agent', ROOT, folder)]);
  const target = await children.node('test/bench/target-process.ts');
  const declared = { svc_http_monitor: declaredMonitors(MONITORS, Number(target.line)) };
  await writeFile(join(folder, 'svc.json'), JSON.stringify(declared));
  console.log(machine());
  const rows: string[][] = [];
  for (const origin of ['bundle', 'sources'] as const) {
    await looked('', agentOf(origin, 'hosta-fra'), 0);
    rows.push(await looked(`idle agent, ${origin}`, agentOf(origin, 'hosta-fra'), 20_000));
  }
  const agents = CHECKED_FROM.map((region) => agentOf('bundle', region));
  await Promise.all(agents.map((agent) => agent.start()));
  for (const origin of ['bundle', 'sources'] as const) {
    await looked('', coordinatorOf(origin), 5_000);
    rows.push(await looked(`coordinator, ${origin}`, coordinatorOf(origin), seconds * 1_000));
  }
  await Promise.all(agents.map((agent) => agent.end('SIGTERM')));
  console.log(formatTable(['', 'MiB', 'peak MiB'], rows));
} finally {
  await Promise.all(programs.map((program) => program.end('SIGKILL')));
  await nats.dispose();
  await children.endAll();
  await rm(folder, { recursive: true, force: true });
}
