import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './errors.ts';
import type { ReaderData, ReaderRequest } from './read-protocol.ts';
import { registerSqlFunctions } from './sql-functions.ts';
import { Statements } from './statements.ts';
import { type Numbered, replyTo, type ServedPort } from './thread-protocol.ts';

/** The next request that has come already, taken out of its turn; undefined: there is none. */
type TakeNext = () => Numbered<ReaderRequest> | undefined;

/**
 * Answers the requests of `port` on one read-only connection. It writes nothing, not even temporary
 * files, so that a disk that takes no writes delays no read.
 *
 * Where another program locks the database against reading, SQLite waits up to 10 s for it. The requests that have come
 * meanwhile fail with the one that has waited: each of them would hold all later ones for as long again.
 *
 * @returns a function that closes the connection
 */
export function serveReads(port: ServedPort, { path }: ReaderData, takeNext?: TakeNext): () => void {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  sqlite.exec('PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY');
  registerSqlFunctions(sqlite);
  const statements = new Statements(sqlite);

  port.on('message', (message: Numbered<ReaderRequest>) => {
    const reply = replyTo(message, ({ sql, parameters }) => statements.run(sql, parameters).rows);
    port.postMessage(reply);
    if (reply.ok || !isBusy(reply.failure)) return;
    for (let next = takeNext?.(); next !== undefined; next = takeNext?.()) {
      port.postMessage({ ...reply, id: next.id });
    }
  });
  return () => sqlite.close();
}
