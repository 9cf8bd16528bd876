import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { ReaderData, ReaderRequest } from './read-protocol.ts';
import { registerSqlFunctions } from './sql-functions.ts';
import { Statements } from './statements.ts';
import { type Numbered, replyTo } from './thread-protocol.ts';

/**
 * The reading thread: runs queries on a read-only connection. It writes nothing, not even temporary files, so
 * that a disk that takes no writes delays no read.
 */
const { path } = workerData as ReaderData;
const port = parentPort;
if (port === null) throw new TypeError('this is the entry of a worker thread');

const sqlite = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
sqlite.exec('PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY');
registerSqlFunctions(sqlite);
const statements = new Statements(sqlite);

port.on('message', (message: Numbered<ReaderRequest>) => {
  port.postMessage(replyTo(message, ({ sql, parameters }) => statements.run(sql, parameters).rows));
});
