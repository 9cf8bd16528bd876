/**
 * Measures the whole service on this machine: three real agents check declared monitors of a loopback HTTP
 * target from three regions every 30 s, and SQLite records the results; with `TESTS_STORE=postgres` in the
 * environment a PostgreSQL server. Arguments: checks per second, seconds, seconds of warm-up.
 */
import { IS_POSTGRES } from '../support/database.ts';
import { startPostgres } from '../support/postgres-server.ts';
import makeTemporaryFolder from '../support/temporary-folder.ts';
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
  'database µs/check',
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
    figures.databaseUs.toFixed(1),
    spreadText(figures.startLateness),
    spreadText(figures.recording),
    [memoryMiB.coordinator, memoryMiB.agents, memoryMiB.nats].map((mib) => mib.toFixed(0)).join(' / '),
  ];
}

const [rate = '1000', seconds = '60', warmUpSeconds = '0'] = process.argv.slice(2);
const removeFolder = makeTemporaryFolder();
const server = IS_POSTGRES ? await startPostgres() : undefined;
if (server !== undefined) process.env.TESTS_POSTGRES = server.url('').reveal().replace(/\/$/, '');
try {
  const run = {
    rate: Number(rate),
    seconds: Number(seconds),
    warmUpSeconds: Number(warmUpSeconds),
    databasePid: server?.pid,
  };
  console.log(formatTable(HEAD, [rowOf(run.rate, await runLoop(run))]));
} finally {
  await server?.dispose();
  removeFolder?.();
}
