/**
 * Runs the whole service of two checkouts at the same time at the same rate, and prints the CPU of the coordinator's
 * threads, so that what else the machine does meets both. A pair of runs one after the other differs by a fifth for that
 * alone.
 *
 *     node test/bench/side-by-side.ts OTHER_CHECKOUT[,FLAG…] [rate] [seconds] [OWN_FLAG…]
 *
 * Flags are Node's, for that side's coordinator. With `.` as the other checkout flags are compared. The machine must have
 * room for both: two cores have it up to some 1,000 checks a second.
 */
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { load, machine } from './machine.ts';
import { RecordedChecks, spreadText } from './recorded-checks.ts';
import { cpuOf, memoryOf, type RunningService, withService } from './running-service.ts';
import { formatTable } from './table.ts';
import { type ThreadTime, threadsSince, threadTimes } from './thread-times.ts';

/** Checks that began in the measured span are recorded within this time after it, ms. */
const LAST_RESULTS_MS = 3_000;
const THREADS = ['main', 'V8Worker', 'store-writer', 'store-reader'] as const;

type Side = { readonly name: string; readonly root: string; readonly flags: readonly string[] };

/** Resolves for both sides together: neither ends while the other is measured. */
class Meeting {
  readonly #all = Promise.withResolvers<void>();
  #missing: number;

  constructor(sides: number) {
    this.#missing = sides;
  }

  arrive(): Promise<void> {
    this.#missing -= 1;
    if (this.#missing === 0) this.#all.resolve();
    return this.#all.promise;
  }
}

async function measure({ name }: Side, { system }: RunningService, seconds: number): Promise<string[]> {
  const { pid } = system.coordinator;
  const from = Date.now();
  const [before, cpuBefore] = [threadTimes(pid), cpuOf(system)];
  await delay(seconds * 1_000);
  const [threads, cpu] = [threadsSince(before, threadTimes(pid)), cpuOf(system)];
  const until = Date.now();
  const memory = memoryOf(system);
  await delay(LAST_RESULTS_MS);
  const checks = new RecordedChecks(system, from, until);
  const us = (ms: number) => ((ms * 1_000) / checks.count).toFixed(1);
  const all: ThreadTime[] = [...threads.values()];
  return [
    name,
    us(all.reduce((sum, { ms }) => sum + ms, 0)),
    ...THREADS.map((thread) => us(threads.get(thread)?.ms ?? 0)),
    ((threads.get('main')?.waits ?? 0) / seconds).toFixed(0),
    us(cpu.agents - cpuBefore.agents),
    us(cpu.nats - cpuBefore.nats),
    checks.perSecond.toFixed(0),
    `${checks.having('not_run')} / ${checks.having('failed')}`,
    spreadText(checks.startLateness()),
    spreadText(checks.recording()),
    memory.coordinator.toFixed(0),
  ];
}

const HEAD = [
  'side',
  'coordinator µs/check',
  ...THREADS,
  'main thread waits/s',
  'agents µs/check',
  'NATS µs/check',
  'checks/s',
  'not_run / failed',
  'start lateness ms p50/p99',
  'end → recorded ms p50/p99',
  'coordinator MiB',
];

const [other, rateText = '1000', secondsText = '30', ...flags] = process.argv.slice(2);
if (other === undefined) throw new Error('give the folder of the other checkout');
const [otherRoot = '.', ...otherFlags] = other.split(',');
const sides: readonly Side[] = [
  { name: 'other', root: resolve(otherRoot), flags: otherFlags },
  { name: 'this', root: resolve('.'), flags },
];
const monitors = monitorsFor(Number(rateText));
const declare = (port: number) => ({ svc_http_monitor: declaredMonitors(monitors, port) });
const measured = new Meeting(sides.length);
console.log(machine());
const rows = await Promise.all(
  sides.map((side) =>
    withService(declare, { root: side.root, coordinatorFlags: side.flags }, async (service) => {
      await delay(untilAllAreCheckedMs(monitors));
      const row = await measure(side, service, Number(secondsText));
      await measured.arrive();
      return row;
    }),
  ),
);
console.log(
  `\n${Number(rateText).toLocaleString('en')} checks/s on each side, ${secondsText} s, ${load()}\n`,
);
console.log(formatTable(HEAD, rows));
