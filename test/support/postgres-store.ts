import { Exchange } from '@svc/coordinator/store/postgres/exchange.ts';
import { openPostgres } from '@svc/coordinator/store/postgres/open-postgres.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import pg from 'pg';
import { settleAfter } from './fake-clock.ts';
import { madeOnce } from './made-once.ts';

/** Databases on the PostgreSQL server that the whole run of tests shares (`postgres-for-tests.ts`). */

const TEMPLATE = 'svc_template';

/**
 * Empties a database except for its one shard, and restarts its ids. Deleting from
 * small tables takes a twentieth of the time of another copy of the template. The
 * second setting prevents that triggers and foreign keys check the order of the deletions.
 */
const EMPTY = `
  SET lock_timeout = '60s';
  DROP FUNCTION IF EXISTS full_disk CASCADE;
  SET session_replication_role = replica;
  DO $$
  DECLARE each record;
  BEGIN
    FOR each IN SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
      AND relnamespace = current_schema()::regnamespace AND relname !~ '^kysely_'
    LOOP
      EXECUTE format('DELETE FROM %I', each.relname);
    END LOOP;
    FOR each IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relispartition
    LOOP
      EXECUTE format('DROP TABLE %I', each.relname);
    END LOOP;
    INSERT INTO shards (id, holder, coordinator, term, writes, epoch, expires_at) VALUES (0, '', '', '', 0, 0, 0);
    PERFORM setval(oid, 1, false) FROM pg_class
      WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace;
  END $$`;

/** The methods of a client behind all of its ways to connect and to run a query. */
type Client = { _connect(told: (error?: Error) => void): void; query(exchange: unknown): unknown };

// A fake clock must not advance before the server has answered, because an answer of SQLite takes no time.
const { _connect: connect, query } = pg.Client.prototype as unknown as Client;
Object.assign(pg.Client.prototype, {
  _connect(this: Client, told: (error?: Error) => void) {
    const { promise, resolve } = Promise.withResolvers<void>();
    settleAfter(promise);
    connect.call(this, (error) => {
      resolve();
      told(error);
    });
  },
  query(this: Client, exchange: unknown) {
    const answer = query.call(this, exchange);
    settleAfter(exchange instanceof Exchange ? exchange.answers : Promise.resolve(answer));
    return answer;
  },
} satisfies Client);

/** Databases that tests of this process have had, emptied. */
const free: string[] = [];

function urlOf(database: string): Secret {
  const { TESTS_POSTGRES } = process.env;
  if (TESTS_POSTGRES === undefined) throw new Error('TESTS_POSTGRES is set by postgres-for-tests.ts');
  return new Secret(`${TESTS_POSTGRES}/${database}`);
}

/** An empty database of this version of svc. */
export async function temporaryDatabase(): Promise<{ readonly url: Secret; remove(): Promise<void> }> {
  const name = free.pop() ?? (await newDatabase());
  const url = urlOf(name);
  return {
    url,
    async remove() {
      await runIn(url, EMPTY);
      free.push(name);
    },
  };
}

let made = 0;

async function newDatabase(): Promise<string> {
  await madeOnce('postgres-template', makeTemplate);
  made += 1;
  const name = `test_${process.pid}_${made}`;
  await runIn(urlOf('postgres'), `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  return name;
}

async function makeTemplate(): Promise<null> {
  await runIn(urlOf('postgres'), `CREATE DATABASE ${TEMPLATE}`);
  const store = await openPostgres({ url: urlOf(TEMPLATE), log: createLogger('test', 'silent') });
  await store.close();
  return null;
}

/** Prevents writes to all tables, see `TestDatabase.hold`. The tables can be read. */
export async function holdTables(url: Secret): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url.reveal() });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    'SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  await client.query(`BEGIN; LOCK TABLE ${rows.map(({ name }) => name).join()} IN EXCLUSIVE MODE`);
  return { release: () => client.end() };
}

/** Runs a statement on a connection of its own. */
export async function runIn(url: Secret, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.reveal() });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
