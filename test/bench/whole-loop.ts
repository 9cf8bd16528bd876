/**
 * The whole service on this machine: declared monitors of a loopback HTTP target, checked from three
 * regions every 30 s by three real agents, recorded in SQLite. Arguments: checks per second, seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { REGIONS } from '@svc/shared/regions.ts';
import { System } from '../support/system.ts';
import { Children } from './children.ts';
import { cpuMs, percentile, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const PERIOD_S = 30;
const CHECKED_FROM = REGIONS.slice(0, 3);
/** New monitors get their first slot at this rate, so a declaration of many takes a while to be in full swing. */
const FIRST_SLOTS_PER_SECOND = 500;

type Row = {
  slot: number;
  started_at: number | null;
  latency: number | null;
  recorded_at: number;
  outcome: string;
};

export async function wholeLoop(rate: number, seconds: number): Promise<string[]> {
  const children = new Children();
  const target = await children.node('test/bench/target-process.ts');
  const monitors = Math.round((rate * PERIOD_S) / CHECKED_FROM.length);
  const system = await System.start({
    regions: CHECKED_FROM,
    declared: declaration(monitors, Number(target.line)),
  });
  try {
    await delay((monitors / FIRST_SLOTS_PER_SECOND) * 1_000 + (PERIOD_S / 2) * 1_000 + 5_000);
    const processes = {
      coordinator: [system.coordinator.pid],
      agents: [...system.agents.values()].map((agent) => agent.pid),
      nats: [system.nats.pid],
      target: [target.pid],
    };
    const cpu = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
    const from = Date.now();
    const before = Object.values(processes).map(cpu);
    await delay(seconds * 1_000);
    const until = Date.now();
    const used = Object.values(processes).map((pids, index) => cpu(pids) - (before[index] ?? 0));
    const memory = Object.values(processes).map((pids) => Math.max(...pids.map(residentMiB)));
    await delay(3_000);
    const rows = system.query<Row>(
      `SELECT slot, json_extract(detail, '$.started_at') AS started_at, latency, recorded_at, outcome
       FROM results WHERE slot >= ? AND slot < ?`,
      from,
      until,
    );
    const expected = monitors * CHECKED_FROM.length * (seconds / PERIOD_S);
    const notRun = rows.filter((row) => row.outcome === 'not_run').length;
    const failed = rows.filter((row) => row.outcome === 'failed').length;
    const ran = rows.filter((row) => row.started_at !== null);
    const late = ran.map((row) => (row.started_at ?? 0) - row.slot);
    const recording = ran.map((row) => row.recorded_at - (row.started_at ?? 0) - (row.latency ?? 0));
    return [
      rate.toLocaleString('en'),
      (rows.length / seconds).toFixed(0),
      `${((rows.length / expected) * 100).toFixed(2)} %`,
      `${notRun} / ${failed}`,
      ...used.slice(0, 3).map((ms) => ((ms / rows.length) * 1_000).toFixed(1)),
      `${percentile(late, 0.5).toFixed(0)} / ${percentile(late, 0.99).toFixed(0)}`,
      `${percentile(recording, 0.5).toFixed(0)} / ${percentile(recording, 0.99).toFixed(0)}`,
      `${memory[0]?.toFixed(0)} / ${memory[1]?.toFixed(0)} / ${memory[2]?.toFixed(0)}`,
    ];
  } finally {
    await system.dispose();
    await children.endAll();
  }
}

export const WHOLE_LOOP_HEAD = [
  'checks/s asked',
  'recorded/s',
  'of expected',
  'not_run / failed',
  'coordinator µs/check',
  'agents µs/check',
  'NATS µs/check',
  'start lateness ms p50/p99',
  'end → recorded ms p50/p99',
  'MiB coordinator / agent / NATS',
];

function declaration(monitors: number, port: number): object {
  const entries = Array.from({ length: monitors }, (_, number) => [
    `m${number}`,
    {
      name: `Monitor ${number}`,
      url: `http://127.0.0.1:${port}/`,
      periodicity: '30s',
      timeout: 10_000,
      active: true,
      regions: CHECKED_FROM,
    },
  ]);
  return { svc_http_monitor: Object.fromEntries(entries) };
}

if (process.argv[1]?.endsWith('whole-loop.ts')) {
  const [rate = '1000', seconds = '60'] = process.argv.slice(2);
  console.log(formatTable(WHOLE_LOOP_HEAD, [await wholeLoop(Number(rate), Number(seconds))]));
}
