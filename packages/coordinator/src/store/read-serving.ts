import { DatabaseSync } from 'node:sqlite';
import type { ReaderData, ReaderRequest } from './read-protocol.ts';
import { registerSqlFunctions } from './sql-functions.ts';
import { Statements } from './statements.ts';
import { type Numbered, replyTo, type ServedPort } from './thread-protocol.ts';

/**
 * Answers the requests of `port` on one read-only connection. It writes nothing, not even temporary
 * files, so that a disk that takes no writes delays no read.
 *
 * @returns a function that closes the connection
 */
export function serveReads(port: ServedPort, { path }: ReaderData): () => void {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  sqlite.exec('PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY');
  registerSqlFunctions(sqlite);
  const statements = new Statements(sqlite);

  port.on('message', (message: Numbered<ReaderRequest>) => {
    port.postMessage(replyTo(message, ({ sql, parameters }) => statements.run(sql, parameters).rows));
  });
  return () => sqlite.close();
}
