/**
 * Measures how long it takes to read a backlog of one region while the service checks from three regions, and
 * how much this delays the other two. Arguments: kind (`garbage`, `forged`, `honest` or `repeated`), MiB, checks per second.
 *
 * `honest` are full batches of results with valid tokens, each of a slot of its own, as agents keep them while the
 * coordinator is away. All of them are recorded. `repeated` are ten such batches, again and again.
 *
 * The benchmark ends the coordinator, fills the region's stream, and starts the coordinator again.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { JobTokens } from '@svc/coordinator/dispatch/job-tokens.ts';
import { parseSecretKey, Secrets } from '@svc/coordinator/store/secrets.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats-bus.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { RegionStream } from '../support/region-stream.ts';
import type { System } from '../support/system.ts';
import { CHECKED_FROM, declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { spreadOf, spreadText } from './recorded-checks.ts';
import { type RunningService, withService } from './running-service.ts';
import { formatTable } from './table.ts';

const MEBIBYTE = 1024 ** 2;
const MESSAGE_BYTES = 250 * 1024;
const [FLOODED = 'hosta-fra'] = CHECKED_FROM;
/** In a batch. */
const RESULTS = 512;
/** Slots of a monitor in an hour. */
const SLOTS = 3_600;
/**
 * The limit that `svc region init` gives a server: the server closes a connection with more unread bytes than
 * this.
 */
const NATS = 'max_pending: 8MB\nwrite_deadline: "2s"';
const LOOK_EVERY_MS = 250;

/** Makes the message with this number. */
type Messages = (index: number) => string;

const FORGED = batchOf((index) => ({
  slot: index,
  token: 'forged',
  outcome: 'failed',
  started_at: index,
  error_message: 'x'.repeat(340),
}));

const KINDS: Readonly<Record<string, (system: System) => Messages>> = {
  garbage: () => () => 'x'.repeat(MESSAGE_BYTES),
  forged: () => () => FORGED,
  honest: honestMessages,
  repeated: (system) => {
    const messages = honestMessages(system);
    return (index) => messages(index % 10);
  },
};

function batchOf(resultOf: (index: number) => object): string {
  const results = Array.from({ length: RESULTS }, (_, index) => ({
    monitor: 1,
    version: 1,
    attempts: [],
    ...resultOf(index),
  }));
  return JSON.stringify({ v: 1, agent: 'bench', results });
}

/** Results of the last hour, a second apart, of as many monitors as it takes. */
function honestMessages(system: System): Messages {
  const tokens = new JobTokens(jobKeyOf(system));
  const newest = Math.trunc(Date.now() / 1_000) * 1_000 - 1_000;
  return (message) =>
    batchOf((index) => {
      const number = message * RESULTS + index;
      const monitor = 1 + Math.trunc(number / SLOTS);
      const slot = newest - (number % SLOTS) * 1_000;
      const token = tokens.tokenOf(monitor, FLOODED, slot);
      return {
        monitor,
        slot,
        token,
        outcome: 'passed',
        started_at: slot,
        latency: 12.3,
        phases: { connect: 1.2 },
      };
    });
}

/** The key of the tokens, as the coordinator opens it. */
function jobKeyOf(system: System): Secret<Uint8Array> {
  const file = join(dirname(system.databasePath), 'secret-key');
  const secrets = new Secrets(parseSecretKey(new Secret(readFileSync(file, 'utf8').trim())).reveal());
  const [row] = system.query<{ value: string }>("SELECT value FROM facts WHERE key = 'job_key'");
  const opened = secrets.open('facts.job_key', Buffer.from(row?.value ?? '', 'base64'));
  return new Secret(Buffer.from(opened.reveal(), 'base64'));
}

async function fill(bus: NatsBus, region: string, messages: Messages, bytes: number): Promise<void> {
  let index = 0;
  for (let sent = 0; sent < bytes; index += 1) {
    const message = messages(index);
    bus.publish(`svc.results.${region}`, message);
    if (index % 16 === 15) await bus.flush();
    sent += message.length;
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

/** Number of results of the backlog that were recorded. */
function recordedOfBacklog({ system }: RunningService): number {
  const [row] = system.query<{ count: number }>(
    "SELECT count(*) AS count FROM results WHERE region = ? AND agent = 'bench'",
    FLOODED,
  );
  return row?.count ?? 0;
}

const [kind = 'garbage', mebibytes = '2048', rate = '200'] = process.argv.slice(2);
const messagesOf = KINDS[kind];
if (messagesOf === undefined)
  throw new Error(`no kind "${kind}"; there are: ${Object.keys(KINDS).join(', ')}`);
const monitors = monitorsFor(Number(rate));
const declare = (port: number) => ({ svc_http_monitor: declaredMonitors(monitors, port) });
const bytes = Number(mebibytes) * MEBIBYTE;
const environment = { SVC_RESULTS_MAX_BYTES: String(CHECKED_FROM.length * bytes) };
const row = await withService(declare, { environment, natsConfiguration: NATS }, async (service) => {
  const { system } = service;
  await delay(untilAllAreCheckedMs(monitors));
  const bus = await connectBus({ url: system.nats.url, name: 'bench', log: pino({ level: 'silent' }) });
  const stream = new RegionStream(bus, FLOODED);
  await system.coordinator.end('SIGTERM');
  await fill(bus, FLOODED, messagesOf(system), bytes);
  const { bytes: held } = await stream.info();
  const from = Date.now();
  await system.coordinator.start();
  const readMs = await untilRead(service, stream);
  await delay(1_000);
  await bus.close();
  const { count, recording } = othersSince(service, FLOODED, from);
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
    recordedOfBacklog(service).toLocaleString('en'),
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
  'recorded of the backlog',
];
console.log(formatTable(HEAD, [row]));
