/**
 * Measures the whole service on this machine: three real agents check declared monitors of a loopback HTTP
 * target from three regions every 30 s, and SQLite records the results. Arguments: checks per second,
 * seconds.
 */
import { type LoopFigures, runLoop } from './loop-figures.ts';
import { spreadText } from './recorded-checks.ts';
import { formatTable } from './table.ts';

const HEAD = [
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

function rowOf(rate: number, figures: LoopFigures): string[] {
  const { cpuUs, memoryMiB } = figures;
  return [
    rate.toLocaleString('en'),
    figures.perSecond.toFixed(0),
    `${(figures.share * 100).toFixed(2)} %`,
    `${figures.notRun} / ${figures.failed}`,
    cpuUs.coordinator.toFixed(1),
    cpuUs.agents.toFixed(1),
    cpuUs.nats.toFixed(1),
    spreadText(figures.startLateness),
    spreadText(figures.recording),
    [memoryMiB.coordinator, memoryMiB.agents, memoryMiB.nats].map((mib) => mib.toFixed(0)).join(' / '),
  ];
}

const [rate = '1000', seconds = '60'] = process.argv.slice(2);
const run = { rate: Number(rate), seconds: Number(seconds) };
console.log(formatTable(HEAD, [rowOf(run.rate, await runLoop(run))]));
