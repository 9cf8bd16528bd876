import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { openStore } from '@svc/coordinator/store/open.ts';
import { serveReads } from '@svc/coordinator/store/sqlite/read-requests.ts';
import type { StoreWorker, StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import type { ServedPort } from '@svc/coordinator/store/sqlite/thread-protocol.ts';
import { serveWrites } from '@svc/coordinator/store/sqlite/write-requests.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { type Clock, systemClock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';

/**
 * Runs the work of a store's threads on the thread of the test: the same code behind the same messages, which are
 * cloned and arrive in a later turn of the event loop. A thread costs 30 ms of a processor, a turn nothing. While
 * a statement waits for a lock of another connection the whole process waits, and no thread can be killed: tests
 * of that start real threads.
 */
export const STORE_IN_PROCESS: StoreWorkers = storeInProcess(systemClock);

/**
 * @param clock of its checkpoints
 * @param reads a port in front of the port that receives reads
 */
export function storeInProcess(
  clock: Clock,
  reads: (port: ServedPort) => ServedPort = (port) => port,
): StoreWorkers {
  return {
    writer: (data) => servedHere((port) => serveWrites(port, data, clock)),
    reader: (data) => servedHere((port) => serveReads(reads(port), data)),
  };
}

function servedHere(serve: (port: ServedPort) => () => void): StoreWorker {
  const { port1, port2 } = new MessageChannel();
  const close = serve(port2);
  port2.unref();
  return Object.assign(port1, {
    async terminate() {
      port1.close();
      close();
    },
  });
}

/** Opens `path` as {@link openStore} does, without threads; a new file is a copy of one that was migrated once. */
export async function openStoreInProcess(
  path: string,
  log: Logger,
  workers: StoreWorkers = STORE_IN_PROCESS,
): Promise<Store> {
  if (!existsSync(path)) await copyMigrated(path, log);
  return openStore({ path, log, workers });
}

/** Creates an empty database of this version at `path`: a copy of one that was migrated once. */
export async function copyMigrated(path: string, log: Logger): Promise<void> {
  migrated ??= migratedFile(log);
  writeFileSync(path, await migrated, { mode: 0o600 });
}

let migrated: Promise<Buffer> | undefined;

/** An empty database, as this version of svc creates it. */
async function migratedFile(log: Logger): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrated-'));
  try {
    const path = join(folder, 'svc.db');
    await (await openStore({ path, log, workers: STORE_IN_PROCESS })).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
