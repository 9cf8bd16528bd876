/**
 * Measures the largest replay: 14 days of a monitor that 28 regions check every 30 s, which is 1.1 million results.
 * `node test/bench/what-if.ts [days]`. The database is on disk, and the replay runs on its thread as in production.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/domain/schedule.ts';
import { DAY_MS } from '@svc/coordinator/domain/summary-range.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { WhatIfs } from '@svc/coordinator/what-if/what-ifs.ts';
import { createLogger } from '@svc/shared/log.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { liveMonitor } from '../support/coordinator/recording.ts';
import { formatTable } from './table.ts';

const PERIOD_MS = 30_000;
const ID = 1;
/** Slots of each outage, and slots from one outage to the next. */
const OUTAGE = 5;
const BETWEEN = 500;
const [days = 14] = process.argv.slice(2).map(Number);

const directory = await mkdtemp(join(tmpdir(), 'svc-bench-what-if-'));
const path = join(directory, 'svc.db');
const store = await openStore({ path, log: createLogger('bench', 'warn') });
const until = Date.UTC(2026, 5, 15, 12);
const from = until - days * DAY_MS;
const began = from - DAY_MS / 24;

async function addResults(): Promise<number> {
  const first = gridSlotFrom(began, PERIOD_MS, phaseOf(ID, PERIOD_MS));
  let rows: (number | string)[][] = [];
  let count = 0;
  for (let slot = first, number = 0; slot < until; slot += PERIOD_MS, number += 1) {
    const outcome = number % BETWEEN < OUTAGE ? 'failed' : 'passed';
    for (const [index, region] of REGIONS.entries()) {
      rows.push([slot, ID, region, outcome, 40 + ((number + index) % 60), slot + 300 + index * 20]);
    }
    if (rows.length < 50_000 && slot + PERIOD_MS < until) continue;
    count += rows.length;
    const taken = rows;
    rows = [];
    await store.transaction((tx) =>
      tx.runEach(
        `INSERT INTO results (slot, monitor_id, region, outcome, version, latency, status_code, detail, agent,
           recorded_at) VALUES (?, ?, ?, ?, 1, ?, 200, '{}', 'agent-1', ?)`,
        taken,
      ),
    );
  }
  return count;
}

type Settings = Parameters<WhatIfs['compare']>[0]['settings'];

async function measured(name: string, settings: Settings): Promise<string[]> {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const present = liveMonitor(ID, { periodMs: PERIOD_MS, regions: [...REGIONS] });
  const compared = await new WhatIfs(path).compare(
    {
      present,
      createdAt: began - DAY_MS,
      timeoutMs: 10_000,
      settings,
      closing: [],
      from,
      until,
    },
    new AbortController().signal,
  );
  const took = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  clearInterval(watch);
  loop.disable();
  const figures = [took / 1_000, (user + system) / 1e6, (peak - before) / 2 ** 20, loop.max / 1e6];
  return [
    name,
    ...figures.map((figure) => figure.toFixed(1)),
    String(compared?.replayed.changes.length ?? 'nothing'),
  ];
}

const count = await addResults();
await store.close();
const rows = [
  await measured('as it was', {}),
  await measured('degraded above 60 ms', { degradedAtMs: 60 }),
  await measured('three of the regions', { regions: REGIONS.slice(0, 3) }),
];
console.log(`${days} days, ${count.toLocaleString('en')} results\n`);
const head = [
  'replay',
  'took, s',
  'CPU, s',
  'more memory, MiB',
  'longest turn of the main thread, ms',
  'changes of status',
];
console.log(formatTable(head, rows));
await rm(directory, { recursive: true });
