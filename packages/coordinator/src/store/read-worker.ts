import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { ReaderData, ReaderReply, ReaderRequest } from './read-protocol.ts';
import { registerSqlFunctions } from './sql-functions.ts';
import { Statements } from './statements.ts';

/**
 * The reading thread: runs queries on a read-only connection and moves the journal into the database
 * file, so that the main thread does neither. Requests are answered in order; an error is an answer.
 */
const { path } = workerData as ReaderData;
const port = parentPort;
if (port === null) throw new Error('this is the entry of a worker thread');

const reading = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
reading.exec('PRAGMA cache_size = -8192');
registerSqlFunctions(reading);
const statements = new Statements(reading);

const checkpointing = new DatabaseSync(path, { timeout: 0 });
checkpointing.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -64');

port.on('message', (request: ReaderRequest) => {
  port.postMessage(answer(request));
});

function answer(request: ReaderRequest): ReaderReply {
  try {
    const rows =
      request.kind === 'query'
        ? statements.run(request.sql, request.parameters).rows
        : checkpointing.prepare('PRAGMA wal_checkpoint(PASSIVE)').all();
    return { id: request.id, ok: true, rows };
  } catch (error) {
    const { message = String(error), errcode = 1 } = error as { message?: string; errcode?: number };
    return { id: request.id, ok: false, failure: { message, errcode } };
  }
}
