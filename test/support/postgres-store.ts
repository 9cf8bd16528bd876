import { randomBytes } from 'node:crypto';
import { openPostgres } from '@svc/coordinator/store/postgres/open-postgres.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import pg from 'pg';
import { madeOnce } from './made-once.ts';

/** Databases on the PostgreSQL server that the whole run of tests shares (`postgres-for-tests.ts`). */

const TEMPLATE = 'svc_template';

function urlOf(database: string): Secret {
  const { TESTS_POSTGRES } = process.env;
  if (TESTS_POSTGRES === undefined) throw new Error('TESTS_POSTGRES is set by postgres-for-tests.ts');
  return new Secret(`${TESTS_POSTGRES}/${database}`);
}

/** An empty database of this version of svc, a copy of one that was migrated once. */
export async function temporaryDatabase(): Promise<{ readonly url: Secret; remove(): Promise<void> }> {
  await madeOnce('postgres-template', makeTemplate);
  const name = `test_${randomBytes(8).toString('hex')}`;
  const server = urlOf('postgres');
  await runIn(server, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  return { url: urlOf(name), remove: () => runIn(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function makeTemplate(): Promise<null> {
  await runIn(urlOf('postgres'), `CREATE DATABASE ${TEMPLATE}`);
  const store = await openPostgres({ url: urlOf(TEMPLATE), log: createLogger('test', 'silent') });
  await store.close();
  return null;
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
