import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';

/**
 * Ensures that only one `npm start` at a time uses a data folder. A file with the process id shows people
 * which process has the folder.
 *
 * @returns a function that releases the lock
 * @throws when another process has it, or the folder is not writable
 */
export function lockDataFolder(dataDir: string): () => void {
  const pidFile = join(dataDir, 'start.pid');
  let release: (() => void) | null = null;
  try {
    release = lockFile(join(dataDir, 'start.lock'));
    if (release !== null) writeFileSync(pidFile, `${process.pid}\n`);
  } catch (error) {
    release?.();
    throw new SvcError('data-folder', unusable(dataDir, error), { cause: error });
  }
  if (release === null) throw new SvcError('data-folder', heldBy(dataDir, pidFile));
  const held = release;
  return () => {
    rmSync(pidFile, { force: true });
    held();
  };
}

function heldBy(dataDir: string, pidFile: string): string {
  const pid = readPid(pidFile);
  return (
    `svc is already running with the data folder ${dataDir}${pid === null ? '' : ` (process ${pid})`}; ` +
    'stop it (Ctrl-C), or set SVC_DATA_DIR and SVC_LISTEN for a second one'
  );
}

/** The message about an unusable data folder. */
export function unusable(dataDir: string, error: unknown): string {
  return `cannot use the data folder ${dataDir}: ${messageOf(error)}; set SVC_DATA_DIR to a writable folder`;
}

function readPid(file: string): number | null {
  try {
    return Number(readFileSync(file, 'utf8')) || null;
  } catch {
    return null; // The other process has just started, or is ending.
  }
}
