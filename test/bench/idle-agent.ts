/**
 * Compares an agent without jobs, from its bundle and as the single executable, with an idle blackbox_exporter: size,
 * time from the command to readiness, memory, and CPU at rest. Argument: seconds of rest (20).
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { stop } from 'esbuild';
import { AGENT_EXECUTABLE, buildAgentExecutable } from '../../deploy/build/agent-executable.ts';
import { buildService } from '../../deploy/build/services.ts';
import { AGENT_ENVIRONMENT, AGENT_FLAGS } from '../../deploy/local/node-flags.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { hasBlackbox, startBlackbox } from './blackbox.ts';
import { Children } from './children.ts';
import { machine } from './machine.ts';
import { cpuMs, median, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const STARTS = 7;
const [seconds = 20] = process.argv.slice(2).map(Number);

const folder = await mkdtemp(join(tmpdir(), 'svc-idle-agent-'));
const nats = await startNatsServer();
const children = new Children();

/** Starts the agent. Resolves with its process and the time until it takes jobs, ms. */
async function started(command: string, args: readonly string[]) {
  const startedAt = performance.now();
  const child = spawn(command, args, {
    env: {
      ...AGENT_ENVIRONMENT,
      PATH: process.env.PATH,
      SVC_NATS_URL: nats.url,
      SVC_REGION: 'hosta-fra',
      SVC_DRAIN_MS: '100',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes('"event":"ready"')) break;
  }
  child.stderr.resume();
  return { child, ms: performance.now() - startedAt };
}

async function rest(pid: number): Promise<[memory: string, cpu: string]> {
  const before = cpuMs(pid);
  await delay(seconds * 1_000);
  return [residentMiB(pid).toFixed(0), ((cpuMs(pid) - before) / seconds).toFixed(2)];
}

async function agentRow(name: string, command: string, args: readonly string[], file: string) {
  const times: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const { child, ms } = await started(command, args);
    times.push(ms);
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  const { child } = await started(command, args);
  // Half a minute after its start the agent returns what that has left behind.
  await delay(40_000);
  const used = await rest(child.pid ?? 0);
  child.kill('SIGTERM');
  await once(child, 'exit');
  const size = ((await stat(file)).size / 1e6).toFixed(1);
  return [name, size, median(times).toFixed(0), ...used];
}

try {
  await buildService('agent', `${import.meta.dirname}/../../`, folder);
  const without = await buildAgentExecutable(`${import.meta.dirname}/../../`, folder);
  await stop();
  const bundle = join(folder, 'agent.mjs');
  const executable = join(folder, AGENT_EXECUTABLE);
  console.log(machine());
  const rows = [await agentRow('bundle', process.execPath, [...AGENT_FLAGS, bundle], bundle)];
  if (without === null) rows.push(await agentRow('executable', executable, [], executable));
  if (hasBlackbox()) {
    const { pid } = await startBlackbox(children, nats.port);
    await delay(10_000);
    rows.push(['blackbox_exporter', '', '', ...(await rest(pid))]);
  }
  console.log(formatTable(['', 'MB', 'ready after ms', 'MiB', 'CPU ms/s'], rows));
} finally {
  await nats.dispose();
  await children.endAll();
  await rm(folder, { recursive: true, force: true });
}
