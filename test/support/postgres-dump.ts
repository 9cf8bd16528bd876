import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Secret } from '@svc/shared/secret.ts';
import { findPostgres } from '../../deploy/local/postgres-server.mjs';
import { runIn } from './postgres-store.ts';

/** Runs a program, and rejects with what it wrote to its standard error when it fails. */
export const execute = promisify(execFile);

/** Copies a database into the file `dump`, which does not exist, by PostgreSQL's own program. */
export async function dumpDatabase(database: Secret, dump: string): Promise<void> {
  await execute(await programOf('pg_dump'), ['--format=custom', `--file=${dump}`, database.reveal()]);
}

/** Replaces the database by a dump; all later changes are lost. Nobody may be connected to the database. */
export async function restoreDatabase(database: Secret, dump: string): Promise<void> {
  const url = new URL(database.reveal());
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  await runIn(new Secret(url.href), `DROP DATABASE IF EXISTS ${name}`);
  await runIn(new Secret(url.href), `CREATE DATABASE ${name}`);
  const options = [`--dbname=${database.reveal()}`, '--no-owner', '--exit-on-error'];
  await execute(await programOf('pg_restore'), [...options, dump]);
}

/** Returns the path of a program of PostgreSQL, which is beside the server's program. */
export async function programOf(name: string): Promise<string> {
  const { initdb } = await findPostgres();
  return join(dirname(initdb), name);
}
