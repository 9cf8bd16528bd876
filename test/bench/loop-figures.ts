import { setTimeout as delay } from 'node:timers/promises';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { familyCpuMs } from './process-usage.ts';
import { RecordedChecks, type Spread } from './recorded-checks.ts';
import {
  cpuOf,
  eachPart,
  memoryOf,
  type Parts,
  type RunningService,
  withService,
} from './running-service.ts';

/** Checks that began in the measured span are recorded within this time after it, ms. */
const LAST_RESULTS_MS = 3_000;

/** The figures of one run of the whole loop. */
export type LoopFigures = {
  perSecond: number;
  /** Part of the expected checks that was recorded, 0 to 1. */
  share: number;
  notRun: number;
  failed: number;
  /** CPU per recorded check, µs. */
  cpuUs: Parts<number>;
  /** CPU of the database server per recorded check, µs; 0: there is no such server. */
  databaseUs: number;
  startLateness: Spread;
  recording: Spread;
  /** Memory at the end, MiB. */
  memoryMiB: Parts<number>;
};

export type LoopRun = {
  /** Checks per second. */
  readonly rate: number;
  readonly seconds: number;
  /** Time between the instant at which all monitors are checked on their grids and the measurement, s. */
  readonly warmUpSeconds?: number;
  /** The checkout whose coordinator and agents run; undefined: this one. */
  readonly root?: string | undefined;
  /** The main process of the database server; undefined: SQLite. */
  readonly databasePid?: number | undefined;
};

/** Runs the whole loop, and measures it for some seconds when all monitors are checked on their grids. */
export function runLoop(run: LoopRun): Promise<LoopFigures> {
  const { rate, warmUpSeconds = 0, root } = run;
  const monitors = monitorsFor(rate);
  const declare = (port: number) => ({ svc_http_monitor: declaredMonitors(monitors, port) });
  return withService(declare, root === undefined ? {} : { root }, async (service) => {
    await delay(untilAllAreCheckedMs(monitors) + warmUpSeconds * 1_000);
    return await measure(service, monitors, run);
  });
}

async function measure(
  { system }: RunningService,
  monitors: number,
  { seconds, databasePid }: LoopRun,
): Promise<LoopFigures> {
  const databaseMs = () => (databasePid === undefined ? 0 : familyCpuMs(databasePid));
  const from = Date.now();
  const before = cpuOf(system);
  const databaseBefore = databaseMs();
  await delay(seconds * 1_000);
  const until = Date.now();
  const after = cpuOf(system);
  const databaseAfter = databaseMs();
  const memoryMiB = memoryOf(system);
  await delay(LAST_RESULTS_MS);
  const checks = await RecordedChecks.of(system, from, until);
  return {
    perSecond: checks.perSecond,
    share: checks.shareOf(monitors),
    notRun: checks.having('not_run'),
    failed: checks.having('failed'),
    cpuUs: eachPart((part) => ((after[part] - before[part]) / checks.count) * 1_000),
    databaseUs: ((databaseAfter - databaseBefore) / checks.count) * 1_000,
    startLateness: checks.startLateness(),
    recording: checks.recording(),
    memoryMiB,
  };
}
