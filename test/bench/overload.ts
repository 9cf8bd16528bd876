/**
 * Offers more checks than the machine can do, and then few again:
 *
 *     node test/bench/overload.ts [offered] [seconds] [sustained] [calm] [recovery] [checkout]
 *
 * The rates are checks per second. One run has five spans: few checks, the sustained rate,
 * the offered rate, and twice few checks again. For the fourth span, the surplus monitors
 * are declared inactive; for the fifth, they are removed. After each of these two, memory
 * and start times are watched for `recovery` seconds (180). With `checkout`, the service
 * of another checkout is measured. That checkout needs a `node_modules` of its own.
 */
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LogLine } from '../support/process.ts';
import { grown, notRunCounters } from './counters.ts';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { percentile } from './process-usage.ts';
import { RecordedChecks, spreadOf, spreadText } from './recorded-checks.ts';
import { cpuOf, memoryOf, type Parts, type RunningService, withService } from './running-service.ts';
import { formatTable } from './table.ts';

/**
 * Largest difference between the agents' memory before and after the overload that counts as recovered, MiB.
 */
const MARGIN_MIB = 15;
/** Start lateness (p99) that counts as in time, ms. */
const IN_TIME_MS = 150;
/** Checks that began at the end of a span are recorded within this time after it, ms. */
const LAST_RESULTS_MS = 3_000;

const HEAD = [
  'offered/s',
  'recorded/s',
  'of offered',
  'start lateness ms p50/p99',
  'end → recorded ms p50/p99',
  'not_run / failed',
  'coordinator MiB',
  'largest agent MiB',
  'CPU of coordinator / agents / NATS',
];
/** Log lines of this level are alarms. */
const ERROR = 50;

type Stage = {
  perSecond: number;
  row: string[];
  memory: Parts<number>;
  /** The counters that grew, with their growth. */
  notRun: string[];
  /**
   * For each second: the checks that began in it, how late they were, and how long after their end they were
   * recorded.
   */
  seconds: string[];
};

/** Declares monitors for this rate, beside those that are switched off later. */
async function declareRate({ system, target }: RunningService, rate: number, known: number): Promise<void> {
  const active = monitorsFor(rate);
  const monitors = declaredMonitors(Math.max(active, known), target.port, (number) => ({
    active: number < active,
  }));
  const applied = system.coordinator.line((line) => line.msg === 'applied the declared file');
  await system.declare({ svc_http_monitor: monitors });
  await applied;
}

async function measure({ system }: RunningService, rate: number, seconds: number): Promise<Stage> {
  const before = await notRunCounters(system);
  const cpuBefore = cpuOf(system);
  const from = Date.now();
  await delay(seconds * 1_000);
  const until = Date.now();
  const cpu = cpuOf(system);
  const used = (part: keyof Parts<unknown>) => ((cpu[part] - cpuBefore[part]) / (until - from)).toFixed(2);
  const memory = memoryOf(system);
  const notRun = grown(before, await notRunCounters(system));
  await delay(LAST_RESULTS_MS);
  const checks = await RecordedChecks.of(system, from, until);
  const row = [
    rate.toLocaleString('en'),
    checks.perSecond.toFixed(0),
    `${(checks.shareOf(monitorsFor(rate)) * 100).toFixed(1)} %`,
    spreadText(checks.startLateness()),
    spreadText(checks.recording()),
    `${checks.having('not_run')} / ${checks.having('failed')}`,
    memory.coordinator.toFixed(0),
    memory.agents.toFixed(0),
    `${used('coordinator')} / ${used('agents')} / ${used('nats')}`,
  ];
  return { perSecond: checks.perSecond, row, memory, notRun, seconds: bySecond(checks, from) };
}

function bySecond(checks: RecordedChecks, from: number): string[] {
  const seconds = Map.groupBy(checks.starts(), ({ at }) => Math.floor((at - from) / 1_000));
  return [...seconds].map(([second, starts]) => {
    const lateness = spreadText(spreadOf(starts.map(({ lateMs }) => lateMs)));
    const recording = spreadText(spreadOf(starts.map(({ recordedMs }) => recordedMs)));
    return `${second} s: ${starts.length} began, lateness ${lateness}, end → recorded ${recording}`;
  });
}

/** Measures the memory in each of the next seconds. */
async function memoryDuring({ system }: RunningService, seconds: number): Promise<Parts<number>[]> {
  const memory: Parts<number>[] = [];
  while (memory.length < seconds) {
    memory.push(memoryOf(system));
    await delay(1_000);
  }
  return memory;
}

/** Time after `since` from which on the checks of every second started in time, s; null: they never did. */
async function inTimeAfter({ system }: RunningService, since: number, until: number): Promise<number | null> {
  const starts = (await RecordedChecks.of(system, since, until)).starts();
  const bySecond = Map.groupBy(starts, ({ at }) => Math.floor((at - since) / 1_000));
  let last = -1;
  for (const [second, checks] of bySecond) {
    const late = checks.map(({ lateMs }) => lateMs);
    if (percentile(late, 0.99) > IN_TIME_MS) last = Math.max(last, second);
  }
  return last + 1 >= Math.floor((until - since) / 1_000) ? null : last + 1;
}

/** @param surplus the present declaration of the surplus monitors */
async function recover(
  service: RunningService,
  calm: Stage,
  seconds: number,
  surplus: string,
): Promise<string[]> {
  const since = Date.now();
  const memory = await memoryDuring(service, seconds);
  await delay(LAST_RESULTS_MS);
  const inTime = await inTimeAfter(service, since, Date.now() - LAST_RESULTS_MS);
  const after = (value: number | null) => (value === null ? 'not' : `after ${value} s`);
  const isBack = ({ agents }: Parts<number>) => agents <= calm.memory.agents + MARGIN_MIB;
  const lastAbove = memory.findLastIndex((each) => !isBack(each));
  const back = lastAbove + 1 < memory.length ? lastAbove + 1 : null;
  const spread = (part: 'agents' | 'coordinator') => {
    const values = memory.slice(back ?? 0).map((each) => each[part]);
    return `${calm.memory[part].toFixed(0)} before, ${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)} MiB then, ${values.at(-1)?.toFixed(0)} at the end`;
  };
  return [
    `surplus monitors ${surplus}, ${seconds} s:`,
    `  starts in time (p99 ≤ ${IN_TIME_MS} ms) again: ${after(inTime)}`,
    `  agents within ${MARGIN_MIB} MiB of before, from then on: ${after(back)} (${spread('agents')})`,
    `  coordinator: ${spread('coordinator')}`,
  ];
}

/** The log lines of each process about returned memory. */
function returnsOf({ system }: RunningService): string[] {
  const processes = [['coordinator', system.coordinator] as const, ...system.agents];
  return processes.map(([name, { lines }]) => {
    const returns = lines.filter(({ pausedMs }) => pausedMs !== undefined);
    const texts = returns.map((each) => `${each.beforeMiB} → ${each.afterMiB} MiB in ${each.pausedMs} ms`);
    return `${name}: ${texts.join(', ') || 'none'}`;
  });
}

function textOf({ msg, region }: LogLine): string {
  return region === undefined ? msg : `${msg} (${region})`;
}

async function run(
  rates: readonly number[],
  seconds: number,
  recoverySeconds: number,
  root: string | undefined,
): Promise<void> {
  const [calmRate = 0] = rates;
  const declare = (port: number) => ({
    svc_http_monitor: declaredMonitors(monitorsFor(calmRate), port),
  });
  const options = {
    ...(root === undefined ? {} : { root }),
    // The surplus monitors are more than half of all.
    environment: { SVC_CONFIG_ALLOW_DELETE: '1' },
  };
  await withService(declare, options, async (service) => {
    const stages: Stage[] = [];
    let known = 0;
    for (const rate of rates) {
      if (known > 0) await declareRate(service, rate, known);
      known = monitorsFor(rate);
      await delay(untilAllAreCheckedMs(known));
      stages.push(await measure(service, rate, seconds));
    }
    const [calm, most, over] = stages as [Stage, Stage, Stage];
    const recovery: string[] = [];
    for (const [surplus, kept] of [['inactive', known] as const, ['removed', 0] as const]) {
      await declareRate(service, calmRate, kept);
      recovery.push(...(await recover(service, calm, recoverySeconds, surplus)));
      stages.push(await measure(service, calmRate, seconds));
    }
    console.log(`${seconds} s each, ${machine()}\n`);
    console.log(
      formatTable(
        HEAD,
        stages.map(({ row }) => row),
      ),
    );
    console.log(
      `\nrecorded under overload: ${(over.perSecond / most.perSecond).toFixed(2)} × the sustained rate`,
    );
    console.log(`not checked under overload: ${over.notRun.join(', ') || 'nothing was counted'}`);
    console.log(`under overload:\n  ${over.seconds.join('\n  ')}`);
    const alarms = new Set(
      service.system.coordinator.lines.filter(({ level }) => level >= ERROR).map(textOf),
    );
    console.log(`alarms:\n  ${[...alarms].join('\n  ')}`);
    console.log(recovery.join('\n'));
    console.log(`returns of memory:\n  ${returnsOf(service).join('\n  ')}`);
  });
}

const [offered = '12000', seconds = '60', sustained = '4000', calm = '1000', recovery = '180', checkout] =
  process.argv.slice(2);
const root = checkout === undefined ? undefined : resolve(checkout);
await run([calm, sustained, offered].map(Number), Number(seconds), Number(recovery), root);
