/**
 * Measures how many bytes a result takes in the database, its index included, for
 * several kinds of results. The reports of three regions come as in service: in the
 * order in which the checks end, and in one transaction each quarter of a second.
 * So the regions of a slot arrive separately, and each joins the row of the others.
 *
 *     node test/bench/result-bytes.ts [monitors] [minutes] [sqlite or postgres]
 */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { openPostgres } from '@svc/coordinator/store/postgres/open-postgres.ts';
import { createRecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import { noWrites, type ReportedResult } from '@svc/coordinator/verdict/writes.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { sql } from 'kysely';
import { startPostgres } from '../support/postgres-server.ts';
import { runIn } from '../support/postgres-store.ts';

const [monitors = 10_000, minutes = 5] = process.argv.slice(2, 4).map(Number);
const database = process.argv[4] ?? 'sqlite';
const log = createLogger('bench', 'warn');
const REGIONS = [
  { region: 'hosta-fra', agent: 'fra-1', awayMs: 20 },
  { region: 'hostb-par', agent: 'par-1', awayMs: 35 },
  { region: 'hostc-us-east4', agent: 'us-east4-1', awayMs: 120 },
] as const;
const BATCH_MS = 250;
const START = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

/** A number from 0 to below 1 that looks random and is the same in each run. */
let state = 1;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

const tenths = (ms: number) => Math.round(ms * 10) / 10;
type Found = Omit<CheckResult, 'monitor' | 'version' | 'slot' | 'token' | 'started_at'>;
type Kind = (awayMs: number, monitor: number) => Found;

function passed(
  more: Pick<Found, 'status_code' | 'certificate_expires_at'>,
  phases: CheckResult['phases'] = {},
): Found {
  const rounded = Object.fromEntries(Object.entries(phases).map(([name, ms = 0]) => [name, tenths(ms)]));
  const latency = tenths(Object.values(rounded).reduce((sum, ms) => sum + ms, 0));
  const { status_code } = more;
  const only = {
    outcome: 'passed',
    started_ms: 0,
    latency,
    ...(status_code === undefined ? {} : { status_code }),
  };
  return {
    outcome: 'passed',
    attempts: [only as CheckResult['attempts'][number]],
    latency,
    phases: rounded,
    ...more,
  };
}

const http: Kind = (awayMs) => {
  const phases = { dns: 1 + 9 * random(), connect: awayMs * (1 + random() / 5) };
  return passed(
    { status_code: 200 },
    { ...phases, first_byte: awayMs + 60 * random(), transfer: 2 * random() },
  );
};
const https: Kind = (awayMs, monitor) => {
  const phases = {
    dns: 1 + 9 * random(),
    connect: awayMs * (1 + random() / 5),
    tls: awayMs * (1 + random()),
  };
  const certificate_expires_at = START + ((monitor * 7_919) % 80) * DAY_MS + 12_345_000;
  const more = { status_code: 200, certificate_expires_at };
  return passed(more, { ...phases, first_byte: awayMs + 60 * random(), transfer: 20 * random() });
};
const tcp: Kind = (awayMs) => passed({}, { dns: 1 + 9 * random(), connect: awayMs * (1 + random() / 5) });
const down: Kind = (awayMs) => {
  const error_message = 'cannot connect to shop.example:443: the target refused the connection';
  const tried = (started_ms: number) => {
    return {
      outcome: 'failed',
      started_ms,
      latency: tenths(awayMs * (1 + random() / 5)),
      error_message,
    } as const;
  };
  const attempts = [tried(0), tried(540.2), tried(1_600.7), tried(3_711.3)];
  const { latency = 0 } = attempts.at(-1) ?? {};
  return {
    outcome: 'failed',
    attempts,
    latency,
    phases: { dns: 1, connect: tenths(latency - 1) },
    error_message,
  };
};
/** Results of monitors of which two in a hundred are down. */
const mixed: Kind = (awayMs, monitor) => {
  const place = monitor % 100;
  const kind = place < 2 ? down : place < 60 ? https : place < 90 ? http : tcp;
  return kind(awayMs, monitor);
};

type Arrival = { readonly at: number; readonly reported: ReportedResult };

/** The reports about slots of this minute, by their arrival. */
function arrivals(minute: number, kind: Kind): Arrival[] {
  const found: Arrival[] = [];
  for (let monitor = 1; monitor <= monitors; monitor += 1) {
    const period = monitor % 2 === 0 ? 30_000 : 60_000;
    for (
      let slot = gridSlotFrom(minute, period, phaseOf(monitor, period));
      slot < minute + 60_000;
      slot += period
    ) {
      for (const { region, agent, awayMs } of REGIONS) {
        const known = kind(awayMs, monitor);
        const result = {
          monitor,
          version: 1,
          slot,
          token: '',
          started_at: slot + Math.floor(3 * random()),
          ...known,
        };
        const last = known.attempts.at(-1);
        const tookMs = (last?.started_ms ?? 0) + (last?.latency ?? 0);
        found.push({ at: slot + tookMs + 50 * random(), reported: { result, region, agent } });
      }
    }
  }
  return found;
}

/** An empty database, and how to measure it when all is written. */
type Measured = {
  readonly store: Store;
  /** Does what the database does by itself once a minute: PostgreSQL's autovacuum. */
  tidy(): Promise<void>;
  /**
   * Closes the store. `file`: bytes that the results added on the disk. `content`: those of the rows alone.
   */
  end(): Promise<{ file: number; content: number }>;
};

async function openedSqlite(): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-bytes-'));
  const path = join(folder, 'svc.db');
  await (await openStore({ path, log })).close();
  const { size: empty } = await stat(path);
  const store = await openStore({ path, log });
  return {
    store,
    tidy: async () => {},
    async end() {
      await store.close();
      const { size } = await stat(path);
      const database = new DatabaseSync(path, { readOnly: true });
      const sums =
        'SELECT name, sum(payload) AS payload FROM dbstat GROUP BY name ORDER BY payload DESC LIMIT 1';
      const content = Number(database.prepare(sums).get()?.payload ?? 0);
      database.close();
      await rm(folder, { recursive: true });
      return { file: size - empty, content };
    },
  };
}

async function openedPostgres(): Promise<Measured> {
  const server = await startPostgres();
  await server.run('CREATE DATABASE svc');
  const store = await openPostgres({ url: server.url('svc'), log });
  return {
    store,
    tidy: () => runIn(server.url('svc'), 'VACUUM slot_results'),
    async end() {
      const { rows } = await sql<{ file: number; content: number }>`
        SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
            WHERE inhparent = CAST('slot_results' AS regclass)) AS file, sum(pg_column_size(r)) AS content
        FROM slot_results r`.execute(store.read);
      await store.close();
      await server.dispose();
      return rows[0] ?? { file: 0, content: 0 };
    },
  };
}

async function measure(kind: Kind) {
  const { store, end, tidy } = await (database === 'postgres' ? openedPostgres() : openedSqlite());
  const recording = createRecordingStore(store, new Secrets(Buffer.alloc(32, 1)));
  let waiting: Arrival[] = [];
  let results = 0;
  const cpu = process.cpuUsage();
  for (let minute = 0; minute <= minutes; minute += 1) {
    const isLast = minute === minutes;
    if (!isLast) waiting = waiting.concat(arrivals(START + minute * 60_000, kind));
    waiting.sort((a, b) => a.at - b.at);
    const until = isLast ? Number.POSITIVE_INFINITY : START + (minute + 1) * 60_000;
    let next = 0;
    while (next < waiting.length && (waiting[next]?.at ?? 0) < until) {
      const batch: ReportedResult[] = [];
      const batchEnd = Math.min((waiting[next]?.at ?? 0) + BATCH_MS, until);
      for (; (waiting[next]?.at ?? batchEnd) < batchEnd; next += 1) {
        batch.push((waiting[next] as Arrival).reported);
      }
      results += batch.length;
      const writes = { ...noWrites(Math.floor(batchEnd)), results: batch };
      await recording.record({ writes, positions: [], changesUntil: null, exportNote: null });
    }
    waiting = waiting.slice(next);
    await tidy();
  }
  const { user, system } = process.cpuUsage(cpu);
  const { file, content } = await end();
  return { results, bytes: file / results, content: content / results, us: (user + system) / results };
}

console.log(`${database}, ${monitors} monitors, every 30 s or minute from three regions, ${minutes} minutes`);
for (const [name, kind] of Object.entries({ http, https, tcp, down, mixed })) {
  const { results, bytes, content, us } = await measure(kind);
  const figures = `${bytes.toFixed(1)} bytes on the disk, ${content.toFixed(1)} in rows, ${us.toFixed(1)} µs of CPU`;
  console.log(`${name.padEnd(6)} ${results} results: each ${figures}`);
}
