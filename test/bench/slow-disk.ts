/**
 * Measures which work stops while the coordinator's disk stalls: `node test/bench/slow-disk.ts [rate]
 * [seconds]`. One run has four spans: undisturbed; traced without a delay (the control); every 10 s the first
 * fsync, fdatasync and pwrite64 of each thread slowed by 3 s; all of these calls slowed. In each of the last
 * two a target goes down for some monitors, and a webhook compares the alerts with the database file.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Announcements } from './announcements.ts';
import { ApiReads, type ReadTimes } from './api-reads.ts';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs, webhook } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { Overheard, type Silences } from './overheard.ts';
import { RecordedChecks, spreadOf, spreadText } from './recorded-checks.ts';
import { type RunningService, watchCoordinatorMemory, withService } from './running-service.ts';
import { type Disk, SlowedDisk, whyNoSlowDisk } from './slowed-disk.ts';
import { formatTable } from './table.ts';

const FRAGILE = 30;
/** Interval of the stalls that come now and then, ms. */
const STALLS_EVERY_MS = 10_000;
/** The checks of a span count as recorded when no further one came for this time, ms. */
const QUIET_MS = 5_000;

type Span = { name: string; disk: Disk | null; seconds: number };
type SpanFigures = {
  name: string;
  from: number;
  until: number;
  reads: ReadTimes;
  silences: Silences;
  peakMiB: number;
  /** Time from the end of the span until its last check was recorded, ms. */
  caughtUpMs: number;
  /** Number of results that agents reported and that were not recorded. */
  lost: number;
};

const HEAD = [
  'disk',
  'start lateness ms p50/p99',
  'list ms p50/p99',
  'get ms p50/p99',
  'longest gap of jobs ms',
  'of heartbeats ms',
  'coordinator peak MiB',
  'recorded of expected',
  'reported, not recorded',
  'last recorded after ms',
];

/** The observers of a run. */
type Watch = { service: RunningService; reads: ApiReads; bus: Overheard };

async function measure({ service, reads, bus }: Watch, span: Span): Promise<SpanFigures> {
  const { system, target } = service;
  await reads.settled();
  reads.take();
  bus.takeSilences();
  const from = Date.now();
  const memory = watchCoordinatorMemory(system);
  const isStalling = span.disk === 'stalls-once' || span.disk === 'stalls';
  if (isStalling) target.send('down');
  await disturb(system.coordinator.pid, span);
  const until = Date.now();
  const times = { reads: reads.take(), silences: bus.takeSilences() };
  if (isStalling) target.send('up');
  const caughtUpMs = await caughtUp(service, from, until);
  const peakMiB = memory.end();
  return {
    name: span.name,
    from,
    until,
    ...times,
    peakMiB,
    caughtUpMs,
    lost: await bus.lost(system, from, until),
  };
}

/** Sets the disk to the state of the span, for the time of the span. */
async function disturb(pid: number, { disk, seconds }: Span): Promise<void> {
  const endsAt = performance.now() + seconds * 1_000;
  const left = () => Math.max(0, endsAt - performance.now());
  while (left() > 0) {
    const slowed = disk === null ? null : await SlowedDisk.attach(pid, disk);
    // A newly attached tracer stalls calls again.
    await delay(disk === 'stalls-once' ? Math.min(STALLS_EVERY_MS, left()) : left());
    await slowed?.detach();
  }
}

/** Returns the time from `until` to the last new row of the span, ms. */
async function caughtUp({ system }: RunningService, from: number, until: number): Promise<number> {
  let count = 0;
  let grewAt = until;
  do {
    const recorded = (await RecordedChecks.of(system, from, until)).count;
    if (recorded > count) grewAt = Date.now();
    count = recorded;
    await delay(250);
  } while (Date.now() - grewAt < QUIET_MS);
  return grewAt - until;
}

async function rowOf({ system }: RunningService, monitors: number, figures: SpanFigures): Promise<string[]> {
  const checks = await RecordedChecks.of(system, figures.from, figures.until);
  return [
    figures.name,
    spreadText(checks.startLateness()),
    spreadText(spreadOf(figures.reads.list)),
    spreadText(spreadOf(figures.reads.one)),
    figures.silences.jobs.toFixed(0),
    figures.silences.heartbeats.toFixed(0),
    figures.peakMiB.toFixed(0),
    `${(checks.shareOf(monitors) * 100).toFixed(2)} %`,
    String(figures.lost),
    figures.caughtUpMs.toFixed(0),
  ];
}

async function run(rate: number, seconds: number): Promise<void> {
  const monitors = monitorsFor(rate);
  let databasePath = '';
  const announcements = await Announcements.start(() => databasePath);
  const declare = (port: number) => {
    const declared = declaredMonitors(monitors, port, (number) =>
      number < FRAGILE ? { url: `http://127.0.0.1:${port}/fragile`, retry: 0 } : {},
    );
    return {
      svc_http_monitor: declared,
      svc_notification: { hook: webhook(announcements.receiver.url, declared) },
    };
  };
  const spans: Span[] = [
    { name: 'undisturbed', disk: null, seconds },
    { name: 'traced', disk: 'traced', seconds },
    { name: 'stalls every 10 s', disk: 'stalls-once', seconds },
    { name: 'stalls always', disk: 'stalls', seconds },
  ];
  try {
    await withService(declare, {}, async (service) => {
      databasePath = service.system.database.file;
      await delay(untilAllAreCheckedMs(monitors));
      const { data } = await service.system.get<{ data: { id: number }[] }>('/v1/monitors?limit=1');
      const reads = new ApiReads(service.system, data[0]?.id ?? 0);
      const bus = await Overheard.on(service.system.nats.url);
      const rows: string[][] = [];
      for (const span of spans) {
        const figures = await measure({ service, reads, bus }, span);
        rows.push(await rowOf(service, monitors, figures));
      }
      reads.stop();
      await bus.close();
      console.log(`${rate.toLocaleString('en')} checks/s, ${seconds} s each, ${machine()}\n`);
      console.log(formatTable(HEAD, rows));
      const { count, early } = announcements;
      console.log(`\nwebhook: told ${count} times, ${early} of them before the file had the change`);
    });
  } finally {
    await announcements.close();
  }
}

const [rate = '1000', seconds = '30'] = process.argv.slice(2);
const reason = whyNoSlowDisk();
if (reason === null) await run(Number(rate), Number(seconds));
else console.log(`not measured: ${reason}`);
