import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@svc/coordinator/store/open.ts';
import { storeInProcess } from '@svc/coordinator/store/sqlite/store-in-process.ts';
import type { StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { systemClock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';

/**
 * Runs the work of a store's threads on the thread of the test. A
 * thread takes 30 ms of CPU time; a turn of the event loop takes none.
 */
export const STORE_IN_PROCESS: StoreWorkers = storeInProcess(systemClock);

/**
 * Opens `path` as {@link openStore} does, without threads.
 * A new file is a copy of a file that was migrated once.
 */
export async function openStoreInProcess(
  path: string,
  log: Logger,
  workers: StoreWorkers = STORE_IN_PROCESS,
): Promise<Store> {
  if (!existsSync(path)) await copyMigrated(path, log);
  return openStore({ path, log, workers });
}

/** Creates an empty database of this version at `path`, as a copy of a file that was migrated once. */
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
