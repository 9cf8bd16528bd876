import { Secret } from '@svc/shared/secret.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { silentLog } from '../../../../../test/support/configured-store.ts';
import { startHeldLink } from '../../../../../test/support/held-link.ts';
import { type PostgresServer, startPostgres } from '../../../../../test/support/postgres-server.ts';
import { runIn } from '../../../../../test/support/postgres-store.ts';
import { errorCodeOf } from '../../../../../test/support/transactions.ts';
import { PostgresReader } from './postgres-reader.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.dispose());

function readerIn(context: TestContext, size: number, url = server.url('postgres')): PostgresReader {
  const reader = new PostgresReader(url, size, silentLog);
  context.onTestFinished(() => reader.close());
  return reader;
}

/** Reads for some seconds. Returns the code of the error, or `none`. */
const read = ({ db }: PostgresReader, seconds = 0) =>
  errorCodeOf(sql`SELECT pg_sleep(${seconds})`.execute(db));

describe.concurrent('reads', () => {
  test('a read waits for a free connection for as long as the reads before it run', async (context) => {
    const reader = readerIn(context, 2);
    // Making a connection may take 10 s.
    const codes = await Promise.all([read(reader, 10.2), read(reader, 10.2), read(reader)]);
    expect(codes).toEqual(['none', 'none', 'none']);
  });

  test('reads that wait when the connections are given up are made on new ones', async (context) => {
    const reader = readerIn(context, 1);
    const reads = [read(reader), read(reader), read(reader)];
    reader.drop();
    expect(await Promise.all(reads)).toEqual(['none', 'none', 'none']);
  });

  test('when a server does not answer, the reads that wait fail with the first one', async (context) => {
    const link = await startHeldLink(server.port);
    context.onTestFinished(() => link.close());
    link.hold();
    const reader = readerIn(context, 1, new Secret(`postgres://svc@127.0.0.1:${link.port}/postgres`));
    const startedAt = performance.now();
    const codes = await Promise.all([read(reader), read(reader), read(reader)]);
    expect(codes).toEqual(['store-reader-lost', 'store-reader-lost', 'store-reader-lost']);
    expect(performance.now() - startedAt).toBeLessThan(18_000);
    link.release();
    expect(await read(reader)).toBe('none');
  });
});

test('a connection whose settings could not be set is not used again', async (context) => {
  await server.run('CREATE DATABASE refusing');
  const url = server.url('refusing');
  // This function stands before PostgreSQL's own one in the search path.
  const define = (body: string) =>
    runIn(
      url,
      `CREATE OR REPLACE FUNCTION public.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql
        AS $$ BEGIN ${body} END $$`,
    );
  await define("RAISE query_canceled USING MESSAGE = 'canceled by a person';");
  await runIn(url, 'ALTER DATABASE refusing SET search_path = public, pg_catalog');
  const reader = readerIn(context, 1, url);
  expect(await read(reader)).toBe('store-overloaded');
  await define('RETURN pg_catalog.set_config($1, $2, $3);');
  expect(await read(reader)).toBe('none');
});
