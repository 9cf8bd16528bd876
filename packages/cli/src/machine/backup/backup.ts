import { randomBytes } from 'node:crypto';
import { chmod, copyFile, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkDatabase, copyDatabase } from '@svc/coordinator/store/sqlite/backup.ts';
import { isCode, SvcError } from '@svc/shared/errors.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import { VERSION } from '@svc/shared/version.ts';
import { UsageError } from '../../command.ts';
import { replaceFile, syncFolder } from '../../replace-file.ts';
import { requireAbsent } from '../../write-file.ts';
import { MANIFEST_FILE, type Manifest, sha256Of } from './manifest.ts';
import {
  DATABASE_FILE,
  explainedFull,
  KEY_FILES,
  keysIn,
  NATS_FOLDER,
  natsFilesIn,
  type Places,
  requireRoom,
  SECRET_FILES,
  sizeOfDatabase,
} from './places.ts';

/** Name of the folder of an incomplete backup, and name of the file in it that the process locks. */
const DRAFT = /\.[0-9a-f]{12}\.part$/;
const LOCK_FILE = 'backup.lock';
/**
 * Maximum number of copies that are made. A copy is repeated when the key was
 * replaced while the copy was made.
 */
const TRIES = 3;

export type BackupOptions = {
  /**
   * Whether all keys are left out, because the operator keeps them elsewhere: the secret key, the
   * API token, and the seeds of NATS.
   */
  readonly isWithoutKeys: boolean;
};

/**
 * Writes a backup of the data folder to a new folder, while a coordinator may run. The folder gets its name
 * only when everything in it is written, durable and checked.
 *
 * @throws SvcError `file-not-written`, `bad-backup`
 */
export async function makeBackup(places: Places, target: string, options: BackupOptions): Promise<Manifest> {
  await requireAbsent(target);
  await lstat(places.database).catch((error: unknown) => {
    throw new UsageError(
      `there is no database ${places.database}: set SVC_DATA_DIR to the data folder of the coordinator`,
      { cause: error },
    );
  });
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  await removeDeadDrafts(folder);
  await requireRoom(folder, await sizeOfDatabase(places.database));
  const draft = `${target}.${randomBytes(6).toString('hex')}.part`;
  let unlock: (() => void) | null = null;
  try {
    await mkdir(draft, { mode: 0o700 });
    unlock = lockFile(join(draft, LOCK_FILE));
    await copyConsistently(places, draft, options);
    const made: Manifest = {
      v: 1,
      made_at: new Date().toISOString(),
      version: VERSION,
      without_keys: options.isWithoutKeys,
      files: await sumsOf(draft),
    };
    await replaceFile(join(draft, MANIFEST_FILE), `${JSON.stringify(made, null, 2)}\n`);
    await rm(join(draft, LOCK_FILE));
    await rename(draft, target);
    await syncFolder(folder);
    return made;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw explainedFull(error, folder);
  } finally {
    unlock?.();
  }
}

/**
 * Removes the remains of killed backups to this folder, because they contain secrets. A running backup holds
 * the lock of its folder, and the system releases the lock with the process.
 */
async function removeDeadDrafts(folder: string): Promise<void> {
  // A folder that this user may write to but may not list is left as it is.
  for (const name of await readdir(folder).catch(() => [])) {
    const lock = join(folder, name, LOCK_FILE);
    if (!DRAFT.test(name) || !(await isThere(lock))) continue;
    const unlock = lockFile(lock);
    if (unlock === null) continue;
    await rm(join(folder, name), { recursive: true, force: true });
    unlock();
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Copies everything. The copied key fits the copied database, even when the key
 * is replaced during the copying.
 */
async function copyConsistently(
  places: Places,
  draft: string,
  { isWithoutKeys }: BackupOptions,
): Promise<void> {
  const database = join(draft, DATABASE_FILE);
  for (let tries = 1; ; tries += 1) {
    const before = await keyText(places.dataDir);
    await rm(database, { force: true });
    await copyDatabase(places.database, database);
    await copyIfThere(places.dataDir, draft, SECRET_FILES);
    if ((await keyText(places.dataDir)) === before) break;
    if (tries === TRIES)
      throw new SvcError('bad-backup', 'the secret key is being replaced: try again when that has ended');
  }
  const keys = places.keysOfSettings ?? (await keysIn(draft));
  checkDatabase(database, keys);
  const left = isWithoutKeys ? SECRET_FILES : places.keysOfSettings === null ? [] : KEY_FILES;
  for (const name of left) await rm(join(draft, name), { force: true });
  await copyNatsFolder(places.natsDir, draft, isWithoutKeys ? /\.(?:conf|json)$/ : /\.(?:nk|conf|json)$/);
}

/**
 * The keys of the data folder as one text, for noticing a replacement. When a key cannot
 * be read, the copying reports it.
 */
async function keyText(folder: string): Promise<string> {
  const texts = KEY_FILES.map((name) => readFile(join(folder, name), 'utf8').catch(() => ''));
  return (await Promise.all(texts)).join('\n');
}

/**
 * Copies the files of "svc region": keys (`*.nk`), and accounts, which contain only public halves of keys.
 */
async function copyNatsFolder(folder: string, draft: string, isCopied: RegExp): Promise<void> {
  const names = (await natsFilesIn(folder)).filter((name) => isCopied.test(name));
  if (names.length === 0) return;
  await mkdir(join(draft, NATS_FOLDER), { mode: 0o700 });
  await copyIfThere(folder, join(draft, NATS_FOLDER), names);
}

async function copyIfThere(from: string, to: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await rm(join(to, name), { force: true });
    const isThere = await copyFile(join(from, name), join(to, name)).then(
      () => true,
      (error: unknown) => {
        if (isCode(error, 'ENOENT')) return false;
        throw unreadable(join(from, name), error);
      },
    );
    if (isThere) await chmod(join(to, name), 0o600);
  }
}

/** Adds advice to the error about a file of another user; other errors stay as they are. */
function unreadable(path: string, error: unknown): unknown {
  if (!isCode(error, 'EACCES')) return error;
  return new UsageError(`this user may not read ${path}, which belongs into the backup: call it as root`, {
    cause: error,
  });
}

/** Returns the checksums of all files in the folder and below it, and makes each file durable. */
async function sumsOf(folder: string): Promise<Manifest['files']> {
  const sums: Manifest['files'] = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) {
      await syncFolder(path);
      continue;
    }
    if (entry.name === LOCK_FILE) continue;
    // SQLite leaves these empty files beside a database that it has checked.
    if (/-(?:wal|shm)$/.test(entry.name)) {
      await rm(path);
      continue;
    }
    const file = await open(path, 'r');
    await file.sync().finally(() => file.close());
    sums[path.slice(folder.length + 1)] = await sha256Of(path);
  }
  return sums;
}
