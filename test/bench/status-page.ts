/**
 * Measures how fast a status page of 50 components is answered from the cache:
 * `node test/bench/status-page.ts [seconds]`. The page is served by a process of its own, over a database on
 * disk, and requested over 50 connections that stay open.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { systemClock } from '@svc/shared/clock.ts';
import { startApi } from '../support/api.ts';
import { DeclaredPage } from '../support/declared-page.ts';
import { cpuMs, percentile } from './process-usage.ts';
import { formatTable } from './table.ts';

const COMPONENTS = 50;
const CONNECTIONS = 50;
const PATHS = ['', '/api/v2/summary.json', '/feed.atom', '/badge.svg'];

/** The process of the page. */
async function serve(): Promise<void> {
  const api = await startApi({ clock: systemClock });
  const monitors = Array.from({ length: COMPONENTS }, (_, index) => `Service number ${index + 1}`);
  const page = await DeclaredPage.declare(api, { monitors });
  for (const [index, name] of monitors.entries()) {
    await page.setStatus(name, 'active');
    if (index % 3 === 0) await page.setStatus(name, 'error');
  }
  process.once('disconnect', () => void api.dispose().then(() => process.exit()));
  process.send?.(api.url);
}

/** Sends requests, and returns the duration of each, ms. */
async function durations(
  url: string,
  agent: Agent,
  seconds: number,
): Promise<{ taken: number[]; bytes: number }> {
  const taken: number[] = [];
  let bytes = 0;
  const until = performance.now() + seconds * 1_000;
  const worker = async () => {
    while (performance.now() < until) {
      const startedAt = performance.now();
      const request = get(url, { agent, headers: { 'accept-encoding': 'gzip' } });
      const [response] = await once(request, 'response');
      bytes = 0;
      for await (const part of response) bytes += part.length;
      if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
      taken.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return { taken, bytes };
}

async function measure(seconds: number): Promise<void> {
  const server: ChildProcess = fork(import.meta.filename, ['serve']);
  const [url] = (await once(server, 'message')) as [string];
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const rows: string[][] = [];
  for (const path of PATHS) {
    await durations(`${url}/status/example${path}`, agent, 1);
    const before = cpuMs(server.pid ?? 0);
    const { taken, bytes } = await durations(`${url}/status/example${path}`, agent, seconds);
    const cpu = (cpuMs(server.pid ?? 0) - before) / taken.length;
    const times = [percentile(taken, 0.5), percentile(taken, 0.99)].map((ms) => ms.toFixed(1));
    rows.push([path || '/', (taken.length / seconds).toFixed(0), ...times, cpu.toFixed(2), String(bytes)]);
  }
  console.log(
    formatTable(
      [`${COMPONENTS} components`, 'a second', 'p50, ms', 'p99, ms', 'CPU each, ms', 'bytes (gzip)'],
      rows,
    ),
  );
  agent.destroy();
  server.disconnect();
  await once(server, 'exit');
}

if (process.argv[2] === 'serve') await serve();
else await measure(Number(process.argv[2] ?? 10));
