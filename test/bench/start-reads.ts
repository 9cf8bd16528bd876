/**
 * Measures the CPU of what a leader does with the stored data of its monitors before its first job: it reads their
 * states and newest slots, and puts the states into memory. The monitors themselves are not read, because a
 * coordinator that waits has them. The CPU of the server and of everything else that a start does is not included.
 *
 * node test/bench/start-reads.ts [monitors, 100,000] [rounds, 5] [postgres or sqlite, postgres]
 *
 * Each monitor has a vote of one region. The first round is that of a coordinator that has just started; the code
 * of the others is compiled.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadNewestSlots } from '@svc/coordinator/checks/newest-slots.ts';
import { Recorder } from '@svc/coordinator/checks/recorder.ts';
import { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import { triplesAs } from '@svc/coordinator/store/dialect.ts';
import { openDatabase } from '@svc/coordinator/store/open.ts';
import { createRecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import { storedStates } from '@svc/coordinator/store/states/monitor-states.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { StoredState } from '@svc/coordinator/verdict/restart.ts';
import { FINEST_PERIOD_MS, gridSlotUntil, phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import { ONLY_SHARD } from '@svc/coordinator/verdict/shard.ts';
import { States } from '@svc/coordinator/verdict/state.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { sql } from 'kysely';
import { startPostgres } from '../support/postgres-server.ts';
import { CHECKED_FROM } from './declared-monitors.ts';
import { loneParts } from './lone-recorder.ts';
import { machine } from './machine.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

const PERIOD_MS = 300_000;
const [count = 100_000, rounds = 5] = process.argv.slice(2, 4).map(Number);
const kind = process.argv[4] ?? 'postgres';
const [region] = CHECKED_FROM as [string];
const now = Date.now();

const monitors = new Map<number, LiveMonitor>();
for (let id = 1; id <= count; id += 1) monitors.set(id, monitorOf(id));

function monitorOf(id: number): LiveMonitor {
  return {
    id,
    workspaceId: 1,
    type: 'http',
    name: `Monitor ${id}`,
    target: 'http://127.0.0.1/',
    active: true,
    periodMs: PERIOD_MS,
    regions: [region],
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 46_000,
    activatedAt: 0,
    checkText: new Secret('{}'),
    declaredExport: null,
  };
}

const slotOf = (id: number) => gridSlotUntil(now, PERIOD_MS, phaseOf(id, PERIOD_MS));

/** Fills the database with few statements, because 100,000 monitors take minutes otherwise. */
async function fill(store: Store): Promise<void> {
  await store.commit([
    { sql: "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'bench', 0)", rows: [[]] },
    { sql: 'SELECT keep_result_day(?)', rows: [[now - 86_400_000], [now]] },
  ]);
  const vote = JSON.stringify([[region, 'p', 0, 612, 512, 12.5, 200]]);
  const triples = [...monitors.keys()].map((id) => [id, slotOf(id), phaseOf(id, FINEST_PERIOD_MS)] as const);
  for (let first = 0; first < count; first += 5_000) {
    const some = triplesAs(triples.slice(first, first + 5_000), 'made');
    await store.transaction(async ({ db }) => {
      await sql`INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
        SELECT first, 1, 'http', 'bench', 1, '{}', 0, 0, 0 FROM ${some}`.execute(db);
      await sql`INSERT INTO monitor_states (monitor_id, status, status_slot, since, reason, version, entered)
        SELECT first, 'active', second, second, 'all-passed', 1, ${region} FROM ${some}`.execute(db);
      await sql`INSERT INTO monitor_votes (place, monitor_id, decided_slot, written_at, votes)
        SELECT third, first, second, second + 700, ${vote} FROM ${some}`.execute(db);
      await sql`INSERT INTO slot_results (slot, monitor_id, part, regions, not_run, reports)
        SELECT second, first, 0, 1, 0, ${new Uint8Array(20)} FROM ${some}`.execute(db);
    });
  }
}

/** CPU time of this process for `work`, all threads, ms. */
async function cpuOf(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function measure(store: Store): Promise<number[]> {
  const read: (readonly StoredState[])[] = [];
  const states = await cpuOf(async () => {
    for await (const some of storedStates(store, now, ONLY_SHARD)) read.push(some);
  });
  const decided = read.flatMap((some) => some.map(({ id, decidedSlot: slot }) => ({ id, slot })));
  const newest = await cpuOf(async () => {
    await loadNewestSlots(store, monitors, now, decided);
  });
  const inMemory = new States();
  const recorder = new Recorder({
    ...loneParts(monitors, CHECKED_FROM, () => now),
    store: {
      ...createRecordingStore(store, new Secrets(Buffer.alloc(32, 1))),
      states: async function* () {
        yield* read;
      },
    },
    states: inMemory,
    tokens: { isValid: () => true },
    log: createLogger('bench', 'warn'),
  });
  const restored = await cpuOf(() => recorder.load());
  if (inMemory.size !== count) throw new Error(`${inMemory.size} states`);
  await recorder.stop();
  return [states, newest, restored];
}

const folder = await mkdtemp(join(tmpdir(), 'svc-start-reads-'));
const server = kind === 'postgres' ? await startPostgres() : null;
await server?.run('CREATE DATABASE svc');
const url = server?.url('svc') ?? new Secret(`sqlite:${join(folder, 'svc.db')}`);
const store = await openDatabase(url, createLogger('bench', 'warn'));
try {
  await fill(store);
  console.error('filled');
  const measured: number[][] = [];
  for (let round = 0; round < rounds; round += 1) measured.push(await measure(store));
  const row = (name: string, some: number[][]) => [
    name,
    ...[0, 1, 2].map((part) => median(some.map((each) => each[part] ?? 0)).toFixed(0)),
    median(some.map((each) => each.reduce((sum, ms) => sum + ms, 0))).toFixed(0),
  ];
  console.log(
    formatTable(
      [
        `${count.toLocaleString('en')} monitors, ${kind}, CPU ms`,
        'states',
        'newest slots',
        'into memory',
        'sum',
      ],
      [row('first', measured.slice(0, 1)), row(`median of ${rounds - 1} more`, measured.slice(1))],
    ),
  );
  console.log(machine());
} finally {
  await store.close();
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
}
