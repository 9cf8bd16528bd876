import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { isBusy } from '../errors.ts';
import type { Database } from '../schema.ts';
import type { StoreReading } from '../store.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { registerSqlFunctions, Statements } from './statements.ts';
import {
  type Numbered,
  type ReaderData,
  type ReaderRequest,
  replyTo,
  type ServedPort,
} from './thread-protocol.ts';

/**
 * Opens a connection that writes nothing, not even temporary files, so that
 * reads go on while the disk accepts no writes.
 */
function readOnly(path: string): { readonly statements: Statements; close(): void } {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  sqlite.exec('PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY');
  registerSqlFunctions(sqlite);
  return { statements: new Statements(sqlite), close: () => sqlite.close() };
}

/**
 * Opens a migrated database file for reading on the calling thread. The file must exist. Errors are those of
 * `node:sqlite`, not StoreErrors.
 */
export function openReadingFile(path: string): StoreReading {
  const { statements, close } = readOnly(path);
  const dialect = sqliteDialect(async (sql, parameters) => statements.run(sql, parameters));
  return { read: new Kysely<Database>({ dialect }), close: async () => close() };
}

/** Takes the next request that has already arrived; undefined: there is none. */
type TakeNext = () => Numbered<ReaderRequest> | undefined;

/**
 * Answers the requests of `port` on one connection.
 *
 * If another program locks the database against reading, SQLite waits up to 10 s. If the wait fails, the
 * requests that arrived during the wait fail too, because each of them would wait as long again.
 *
 * @param takeNext left out: requests that arrived during a failed wait are answered one by one
 * @returns a function that closes the connection
 */
export function serveReads(port: ServedPort, { path }: ReaderData, takeNext?: TakeNext): () => void {
  const { statements, close } = readOnly(path);
  port.on('message', (message: Numbered<ReaderRequest>) => {
    const reply = replyTo(message, ({ sql, parameters }) => statements.run(sql, parameters).rows);
    port.postMessage(reply);
    if (reply.ok || !isBusy(reply.failure)) return;
    for (let next = takeNext?.(); next !== undefined; next = takeNext?.()) {
      port.postMessage({ ...reply, id: next.id });
    }
  });
  return close;
}
