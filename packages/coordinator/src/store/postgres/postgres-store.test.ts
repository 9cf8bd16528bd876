import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { Secret } from '@svc/shared/secret.ts';
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { silentLog } from '../../../../../test/support/configured-store.ts';
import { startHeldLink } from '../../../../../test/support/held-link.ts';
import { type PostgresServer, startPostgres } from '../../../../../test/support/postgres-server.ts';
import { runIn } from '../../../../../test/support/postgres-store.ts';
import { errorCodeOf, insertWorkspace, workspaceNames } from '../../../../../test/support/transactions.ts';
import { deleteResults } from '../history/retention.ts';
import { writeProgress } from '../history/rollup-progress.ts';
import { refuseNewer } from '../migrate.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import { abstentionOf, insertReports } from '../results/insert-reports.ts';
import type { Database } from '../schema.ts';
import { MAX_WAITING_READS } from '../serial-store.ts';
import { LEASE_MS } from '../shard-lease.ts';
import type { SqlStep, Store, Transaction } from '../store.ts';
import { Connection } from './connection.ts';
import { openPostgres } from './open-postgres.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { PostgresWriter } from './postgres-writer.ts';

let server: PostgresServer;
let store: Store;
let databases = 0;
let database: string;

beforeAll(async () => {
  server = await startPostgres({ isDurable: true });
});
afterAll(() => server.dispose());

beforeEach(async () => {
  databases += 1;
  database = `store_${databases}`;
  await server.run(`CREATE DATABASE ${database}`);
  store = await opened();
});
afterEach(() => store.close());

const opened = (url = server.url(database)) => openPostgres({ url, log: silentLog });
const names = () => workspaceNames(store);

const insert = (...added: string[]): SqlStep => ({
  sql: 'INSERT INTO workspaces (name, created_at) VALUES (?, 1)',
  rows: added.map((name) => [name]),
});

const isLost = { code: 'store-writer-lost', retryable: true };

/** Runs `work` again until it does not fail, as the recorder does. All errors must be retryable. */
async function untilItSucceeds<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      expect(error).toMatchObject({ retryable: true });
      await setImmediate();
    }
  }
}

test('two coordinators write in turn: rows that one reads in its transaction stay the same until its end', async () => {
  const other = await opened();
  const increment = (from: Store) =>
    from.transaction(async (tx) => {
      const [found] = await tx.query<{ count: number }>('SELECT count(*) AS count FROM workspaces');
      await insertWorkspace(`number ${found?.count ?? 0}`)(tx);
    });
  const all = Array.from({ length: 20 }, (_, index) => increment(index % 2 === 0 ? store : other));
  await Promise.all(all);
  expect(await names()).toEqual(Array.from({ length: 20 }, (_, index) => `number ${index}`));
  await other.close();
});

test('a coordinator that is frozen in a transaction delays others for 3 s, and stores nothing', async () => {
  const other = await opened();
  const hasBegun = Promise.withResolvers<void>();
  const thaw = Promise.withResolvers<void>();
  const frozen = other.transaction(async (tx) => {
    await insertWorkspace('frozen')(tx);
    hasBegun.resolve();
    await thaw.promise;
  });
  await hasBegun.promise;
  const startedAt = performance.now();
  await store.commit([insert('a')]);
  expect(performance.now() - startedAt).toBeGreaterThan(1_000);
  thaw.resolve();
  await expect(frozen).rejects.toMatchObject(isLost);
  expect(await names()).toEqual(['a']);
  await other.close();
});

test('a process that was frozen in a transaction learns that its connection has ended', async () => {
  const frozen = store.transaction(async (tx) => {
    await insertWorkspace('frozen')(tx);
    // The process stands still until the server has ended the connection.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
    await insertWorkspace('thawed')(tx);
  });
  await expect(frozen).rejects.toMatchObject(isLost);
  await store.commit([insert('a')]);
  expect(await names()).toEqual(['a']);
});

test('a table that another coordinator migrates is read and written again after one failure', async () => {
  const all = 'SELECT * FROM workspaces';
  const reading = () => sql.raw(all).execute(store.read);
  const writing = () => store.transaction((tx) => tx.query(all));
  await Promise.all([reading(), writing()]);
  await runIn(server.url(database), 'ALTER TABLE workspaces ADD COLUMN extra integer');
  for (const use of [reading, writing]) {
    await errorCodeOf(use());
    await use();
  }
});

test('no transaction runs during a migration, and afterwards transactions of an older version are refused', async () => {
  await store.transaction(insertWorkspace('before'));
  const isRunning = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const up = async () => {
    isRunning.resolve();
    await mayEnd.promise;
  };
  const newer = new PostgresWriter({ url: server.url(database), onLost: () => {}, log: silentLog });
  const migrator = new Migrator({
    db: new Kysely<Database>({ dialect: postgresDialect(newer.run) }),
    provider: { getMigrations: async () => ({ ...MIGRATIONS, '9999-later': { up } }) },
  });
  const migrating = migrator.migrateToLatest();
  await isRunning.promise;
  const meanwhile = errorCodeOf(store.commit([insert('meanwhile')]));
  const waiting = async () => (await sql`SELECT 1 FROM pg_locks WHERE NOT granted`.execute(store.read)).rows;
  while ((await waiting()).length === 0) await setImmediate();
  mayEnd.resolve();
  expect(await migrating).not.toHaveProperty('error');
  expect(await meanwhile).toBe('store-newer');
  expect(await errorCodeOf(store.transaction(insertWorkspace('after')))).toBe('store-newer');
  await expect(refuseNewer(store.read, 'the database')).rejects.toMatchObject({
    code: 'store-newer',
    message: expect.stringContaining(
      'the database was written by a newer version of svc (9999-later): start',
    ),
  });
  expect(await names()).toEqual(['before']);
  await newer.close();
});

test('prepared statements that failed do not accumulate in the server', async () => {
  const kept = 'SELECT count(*) AS count FROM pg_prepared_statements';
  const failing = () => store.transaction((tx) => tx.query('SELECT 1 / (SELECT 0)'));
  const count = () =>
    store.transaction(async (tx) => (await tx.query<{ count: number }>(kept))[0]?.count ?? 0);
  await errorCodeOf(failing());
  const before = await count();
  for (let time = 0; time < 20; time += 1) await errorCodeOf(failing());
  expect(await count()).toBeLessThanOrEqual(before + 1);
});

test('a database of another program is refused, and the error of an unreachable server hides the password', async () => {
  await server.run('CREATE TABLE notes (text text)');
  expect(await errorCodeOf(opened(server.url('postgres')))).toBe('store-foreign');
  await server.run('DROP TABLE notes');
  await expect(opened(new Secret('postgres://svc:hush@127.0.0.1:1/svc'))).rejects.toThrow(
    /^(?!.*hush).*ECONNREFUSED/,
  );
});

test('a database with another encoding than UTF8 is refused', async () => {
  await server.run(
    "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0",
  );
  await expect(opened(server.url('latin'))).rejects.toThrow(/LATIN1.*UTF8/);
});

test('a server that has no connection left is a retryable error', async () => {
  await server.run('CREATE ROLE few LOGIN CONNECTION LIMIT 0');
  const url = new Secret(server.url(database).reveal().replace('svc@', 'few@'));
  await expect(opened(url)).rejects.toMatchObject(isLost);
});

test('bytes and fractions are read without loss, whatever output format the server prefers', async () => {
  await server.run(`ALTER DATABASE ${database} SET bytea_output = 'escape'`);
  await server.run(`ALTER DATABASE ${database} SET extra_float_digits = 0`);
  await store.close();
  store = await opened();
  const query = "SELECT CAST('\\x00ff' AS bytea) AS bytes, CAST(0.1 AS float8) + 0.2 AS fraction";
  const rows = [{ bytes: new Uint8Array([0, 255]), fraction: 0.1 + 0.2 }];
  expect((await sql.raw(query).execute(store.read)).rows).toEqual(rows);
  expect(await store.transaction((tx) => tx.query(query))).toEqual(rows);
});

test('a day of results that another program reads is not dropped, and the attempt ends within a lease', async () => {
  const day = Date.UTC(2026, 0, 15);
  const result = {
    monitorId: 1,
    version: 1,
    slot: day - 1,
    region: 'hosta-fra',
    reason: 'no-agent',
  } as const;
  await store.commit(insertReports([abstentionOf(result)], day));
  await store.transaction((tx) => writeProgress(tx, { hour: day, phase: 0, day, afterMonitor: 0 }));
  const dumped = Promise.withResolvers<void>();
  const dumping = server.hold(database, 'LOCK TABLE slot_results IN ACCESS SHARE MODE', dumped.promise);
  await dumping.isHeld;
  const startedAt = performance.now();
  const dropping = deleteResults(store, day);
  await expect(dropping).rejects.toMatchObject({ code: 'store-busy', retryable: true });
  expect(performance.now() - startedAt).toBeLessThan(LEASE_MS);
  dumped.resolve();
  await dumping.done;
  expect(await deleteResults(store, day)).toBe(1);
});

test('a connection that is lost while the store closes is no error', async () => {
  const released = Promise.withResolvers<void>();
  const locking = server.hold(database, 'LOCK TABLE workspaces', released.promise);
  await locking.isHeld;
  const reading = names();
  const waits = sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  await expect.poll(async () => (await waits.execute(store.work)).rows.length).toBe(1);
  const closed = store.close();
  await server.run(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = '${database}' AND application_name = 'svc' AND wait_event_type <> 'Lock'`);
  released.resolve();
  await Promise.all([locking.done, closed]);
  expect(await reading).toEqual([]);
});

test('reads cannot write, their queue is bounded, and closing rejects those that wait', async () => {
  expect(await errorCodeOf(sql`DELETE FROM workspaces`.execute(store.read))).toBe('store-readonly');
  const reads = Array.from({ length: MAX_WAITING_READS + 10 }, () =>
    errorCodeOf(sql`SELECT 1`.execute(store.read)),
  );
  const outcomes = await Promise.all(reads);
  expect(new Set(outcomes)).toEqual(new Set(['none', 'store-overloaded']));
  const waiting = Array.from({ length: 50 }, () => errorCodeOf(names()));
  await store.close();
  expect(new Set(await Promise.all(waiting))).toContain('store-closed');
  expect(await errorCodeOf(names())).toBe('store-closed');
  expect(await errorCodeOf(store.commit([insert('a')]))).toBe('store-closed');
});

test('another program that holds a lock for too long is a retryable error', async () => {
  const steps: SqlStep[] = [{ sql: "SELECT set_config('lock_timeout', '50', false)", rows: [[]] }];
  await store.commit(steps);
  const held = Promise.withResolvers<void>();
  const locking = server.hold(database, 'LOCK TABLE workspaces IN EXCLUSIVE MODE', held.promise);
  await locking.isHeld;
  await expect(store.commit([insert('a')])).rejects.toMatchObject({ code: 'store-busy', retryable: true });
  held.resolve();
  await locking.done;
  await store.commit([insert('b')]);
  expect(await names()).toEqual(['b']);
});

test('a statement that takes too long fails its transaction, and the connection goes on', async () => {
  const pid = () => store.transaction((tx) => tx.query('SELECT pg_backend_pid() AS pid'));
  const before = await pid();
  await store.commit([{ sql: "SELECT set_config('statement_timeout', '50', false)", rows: [[]] }]);
  const slow = 'SELECT pg_sleep(60)';
  const slowly = async (tx: Transaction) => {
    await insertWorkspace('a')(tx);
    await tx.query(slow);
  };
  const isTooMuch = {
    code: 'store-overloaded',
    retryable: true,
    message: expect.not.stringContaining('lock'),
  };
  await expect(store.transaction(slowly)).rejects.toMatchObject(isTooMuch);
  await expect(store.commit([insert('a'), { sql: slow, rows: [[]] }])).rejects.toMatchObject(isTooMuch);
  await store.commit([insert('b')]);
  expect([await names(), await pid()]).toEqual([['b'], before]);
});

test('when the server stops, running statements fail; when it is back, reads and writes go on', async () => {
  await store.commit([insert('before')]);
  expect(await names()).toEqual(['before']);
  const told: string[] = [];
  const open = store.transaction(async (tx: Transaction) => {
    tx.onCommit(() => told.push('committed'));
    await insertWorkspace('lost')(tx);
    await server.stop();
    await insertWorkspace('more')(tx);
  });
  await expect(open).rejects.toMatchObject(isLost);
  await expect(names()).rejects.toMatchObject({ code: 'store-reader-lost', retryable: true });
  await expect(store.commit([insert('meanwhile')])).rejects.toMatchObject(isLost);
  await server.restart();
  await untilItSucceeds(() => store.commit([insert('after')]));
  expect(await untilItSucceeds(names)).toEqual(['before', 'after']);
  expect(told).toEqual([]);
});

test('a server that became read-only is given up, and svc connects again', async () => {
  await server.run(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
  // The setting applies to new sessions only. So the writer's own session is made read-only here, as the
  // sessions of a replaced server are.
  await store.commit([
    { sql: "SELECT set_config('default_transaction_read_only', 'on', false)", rows: [[]] },
  ]);
  await expect(store.commit([insert('a')])).rejects.toMatchObject(isLost);
  // New sessions are read-only too.
  await expect(store.transaction(insertWorkspace('a'))).rejects.toMatchObject({
    ...isLost,
    message: expect.stringContaining('the server is read-only'),
  });
  await server.run(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
  await store.transaction(insertWorkspace('b'));
  expect(await names()).toEqual(['b']);
});

test('whenever the server is killed, a transaction is stored as a whole or not at all, and an answered one is stored', async () => {
  for (let round = 0; round < 4; round += 1) {
    await store.commit([]);
    const answered: string[] = [];
    const writing = (async () => {
      for (let number = 0; ; number += 1) {
        const step = insert(`left:${round}:${number}`, `right:${round}:${number}`);
        const code = await errorCodeOf(store.commit([step]));
        // The store answers only when it knows whether the commit was durable; until then it waits for the
        // server.
        if (code !== 'none' && code !== 'store-unanswered') return expect(code).toBe('store-writer-lost');
        answered.push(`${number}`);
        if (code === 'store-unanswered') return;
      }
    })();
    await delay(Math.random() * 10);
    await server.kill();
    await server.restart();
    await writing;
    const found = await untilItSucceeds(names);
    const sides = (side: string) =>
      found.filter((name) => name.startsWith(`${side}:${round}`)).map((name) => name.split(':')[2]);
    expect(sides('left')).toEqual(sides('right'));
    expect(sides('left')).toEqual(answered);
  }
});

/**
 * A proxy in front of the server. After `cut`, the connection of the next commit ends, before or after the server
 * gets the commit. `cutAll` ends all connections. After `ignoreGoodbyes`, no connection ends that a client wants to
 * end. After `refuse(true)`, each new connection ends at once.
 */
async function startProxy(): Promise<{
  url: Secret;
  cut(when: 'before' | 'after'): void;
  cutAll(): void;
  ignoreGoodbyes(): void;
  refuse(isRefusing: boolean): void;
}> {
  const sockets = new Set<Socket>();
  let mode: 'before' | 'after' | null = null;
  let hearsGoodbyes = true;
  let isRefusing = false;
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    if (isRefusing) return void client.destroy();
    const upstream = connect(server.port, '127.0.0.1');
    let isCutting = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', end);
    }
    client.on('end', () => hearsGoodbyes && end());
    client.on('data', (chunk) => {
      // The message Terminate.
      if (!hearsGoodbyes && chunk[0] === 0x58) return;
      const isCommit = mode !== null && chunk.includes('INTO last_commits');
      if (!isCommit) return void upstream.write(chunk);
      const when = mode;
      mode = null;
      if (when === 'before') return end();
      isCutting = true;
      upstream.write(chunk);
    });
    // The server answers only after the commit, because an exchange has one Sync, at its end.
    upstream.on('data', (chunk) => (isCutting ? end() : client.write(chunk)));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await once(proxy, 'close');
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    url: new Secret(`postgres://svc@127.0.0.1:${port}/${database}`),
    cut(when) {
      mode = when;
    },
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    ignoreGoodbyes() {
      hearsGoodbyes = false;
    },
    refuse(refused) {
      isRefusing = refused;
    },
  };
}

test('the store learns that a commit whose answer was lost is durable', async () => {
  await store.close();
  const proxy = await startProxy();
  store = await opened(proxy.url);
  proxy.cut('after');
  expect(await errorCodeOf(store.commit([insert('a')]))).toBe('store-unanswered');

  await store.close();
  store = await opened(proxy.url);
  proxy.cut('after');
  const told: string[] = [];
  await store.transaction(async (tx) => {
    tx.onCommit(() => told.push('committed'));
    await insertWorkspace('b')(tx);
  });
  expect(told).toEqual(['committed']);
  expect(await names()).toEqual(['a', 'b']);
});

test('a commit that did not reach the server leaves no rows, and may be tried again', async () => {
  await store.close();
  const proxy = await startProxy();
  store = await opened(proxy.url);
  proxy.cut('before');
  await expect(store.commit([insert('a')])).rejects.toMatchObject(isLost);
  expect(await names()).toEqual([]);
  await store.commit([insert('a')]);
  expect(await names()).toEqual(['a']);
});

test('while the server is away, transactions behind a commit whose answer was lost fail, and write nothing', async () => {
  await store.close();
  const proxy = await startProxy();
  store = await opened(proxy.url);
  proxy.cut('after');
  proxy.refuse(true);
  const unanswered = errorCodeOf(store.commit([insert('a')]));
  const others = [store.transaction(insertWorkspace('b')), store.commit([insert('c')])];
  for (const other of others) await expect(other).rejects.toMatchObject(isLost);
  proxy.refuse(false);
  expect(await unanswered).toBe('store-unanswered');
  expect(await names()).toEqual(['a']);
});

test('a connection that breaks during a read fails that read, and nothing else', async () => {
  await store.close();
  const proxy = await startProxy();
  store = await opened(proxy.url);
  const reading = errorCodeOf(sql`SELECT pg_sleep(60)`.execute(store.read));
  const running = sql`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`;
  await expect.poll(async () => (await running.execute(store.work)).rows.length).toBe(1);
  proxy.cutAll();
  expect(await reading).toBe('store-reader-lost');
  expect(await untilItSucceeds(names)).toEqual([]);
});

test('an exchange ends after its time limit, even if it was not sent yet', async () => {
  const link = await startHeldLink(server.port);
  onTestFinished(() => link.close());
  link.hold();
  const client = new pg.Client(`postgres://svc@127.0.0.1:${link.port}/${database}`);
  const connecting = client.connect();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const answer = new Connection(client).run('SELECT 1', []);
  vi.advanceTimersByTime(60_000);
  for (const end of [connecting, answer]) await expect(end).rejects.toThrow('terminated unexpectedly');
});

test('a server that svc does not use is left without waiting for its goodbye', async () => {
  await store.close();
  const proxy = await startProxy();
  await server.run(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
  proxy.ignoreGoodbyes();
  await expect(opened(proxy.url)).rejects.toMatchObject(isLost);
});
