/**
 * Measures how long it takes to read a backlog of one region while the service checks from three regions, and
 * how much this delays the other two. Arguments: kind (`garbage` or `forged`), MiB, checks per second.
 *
 * The benchmark ends the coordinator, fills the region's stream, and starts the coordinator again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus, type NatsBus } from '@svc/shared/nats-bus.ts';
import { pino } from 'pino';
import { RegionStream } from '../support/region-stream.ts';
import { CHECKED_FROM, declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { spreadOf, spreadText } from './recorded-checks.ts';
import { type RunningService, withService } from './running-service.ts';
import { formatTable } from './table.ts';

const MEBIBYTE = 1024 ** 2;
const MESSAGE_BYTES = 250 * 1024;
/**
 * The limit that `svc region init` gives a server: the server closes a connection with more unread bytes than
 * this.
 */
const NATS = 'max_pending: 8MB\nwrite_deadline: "2s"';
const LOOK_EVERY_MS = 250;

const MESSAGES: Readonly<Record<string, string>> = {
  garbage: 'x'.repeat(MESSAGE_BYTES),
  forged: JSON.stringify({
    v: 1,
    agent: 'cheat',
    results: Array.from({ length: 512 }, (_, slot) => ({
      monitor: 1,
      version: 1,
      slot,
      token: 'forged',
      outcome: 'failed',
      started_at: slot,
      error_message: 'x'.repeat(340),
      attempts: [],
    })),
  }),
};

async function fill(bus: NatsBus, region: string, message: string, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes; sent += message.length) {
    bus.publish(`svc.results.${region}`, message);
    if ((sent / message.length) % 16 < 1) await bus.flush();
  }
  await bus.flush();
}

/** Time until all messages that the stream held at the beginning are recorded, ms. */
async function untilRead({ system }: RunningService, stream: RegionStream): Promise<number> {
  const from = performance.now();
  const { lastSequence } = await stream.info();
  for (;;) {
    const [row] = system.query<{ sequence: number }>(
      'SELECT sequence FROM stream_positions WHERE stream = ?',
      stream.name,
    );
    if ((row?.sequence ?? 0) >= lastSequence) return performance.now() - from;
    await delay(LOOK_EVERY_MS);
  }
}

/** Time from the end of a check to its row, for the regions without a backlog, ms. */
function othersSince({ system }: RunningService, flooded: string, from: number) {
  const rows = system.query<{ ms: number }>(
    `SELECT recorded_at - json_extract(detail, '$.started_at') - latency AS ms FROM results
     WHERE region <> ? AND slot >= ? AND latency IS NOT NULL`,
    flooded,
    from,
  );
  return { count: rows.length, recording: spreadOf(rows.map(({ ms }) => ms)) };
}

const [kind = 'garbage', mebibytes = '2048', rate = '200'] = process.argv.slice(2);
const message = MESSAGES[kind];
if (message === undefined)
  throw new Error(`no kind "${kind}"; there are: ${Object.keys(MESSAGES).join(', ')}`);
const monitors = monitorsFor(Number(rate));
const declare = (port: number) => ({ svc_http_monitor: declaredMonitors(monitors, port) });
const bytes = Number(mebibytes) * MEBIBYTE;
const environment = { SVC_RESULTS_MAX_BYTES: String(CHECKED_FROM.length * bytes) };
const row = await withService(declare, { environment, natsConfiguration: NATS }, async (service) => {
  const { system } = service;
  const [flooded = 'hosta-fra'] = CHECKED_FROM;
  await delay(untilAllAreCheckedMs(monitors));
  const bus = await connectBus({ url: system.nats.url, name: 'bench', log: pino({ level: 'silent' }) });
  const stream = new RegionStream(bus, flooded);
  await system.coordinator.end('SIGTERM');
  await fill(bus, flooded, message, bytes);
  const { bytes: held } = await stream.info();
  const from = Date.now();
  await system.coordinator.start();
  const readMs = await untilRead(service, stream);
  await delay(1_000);
  await bus.close();
  const { count, recording } = othersSince(service, flooded, from);
  const disconnections = system.coordinator.lines.filter(
    ({ msg }) => msg === 'lost the connection to NATS',
  ).length;
  return [
    kind,
    (held / MEBIBYTE).toFixed(0),
    (readMs / 1_000).toFixed(1),
    String(disconnections),
    String(count),
    spreadText(recording),
  ];
});
console.log(machine());
const HEAD = [
  'backlog',
  'MiB held',
  's to read',
  'disconnections',
  "others' results",
  'their end → recorded ms p50/p99',
];
console.log(formatTable(HEAD, [row]));
