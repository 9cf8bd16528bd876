import { randomBytes } from 'node:crypto';
import { chmod, copyFile, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkDatabase, copyDatabase } from '@svc/coordinator/store/sqlite/backup.ts';
import { isCode, SvcError } from '@svc/shared/errors.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import { VERSION } from '@svc/shared/version.ts';
import { UsageError } from '../../command.ts';
import { replaceFile, syncFolder } from '../../replace-file.ts';
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

/**
 * Suffix of the folder of an incomplete backup. {@link LOCK_FILE} is a
 * file in that folder. The process that makes the backup locks this file.
 */
const DRAFT = /\.[0-9a-f]{12}\.part$/;
const LOCK_FILE = 'backup.lock';
/**
 * Maximum number of times that the database is copied. It is
 * copied again when the secret key was replaced meanwhile.
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
 * Writes a backup of the data folder to a new folder, while a coordinator may run. The
 * folder gets its name only when everything in it is written, durable and checked.
 *
 * @throws UsageError when there is no database, or a file may not be read
 * @throws SvcError `file-not-written`, `bad-backup`
 */
export async function makeBackup(places: Places, target: string, options: BackupOptions): Promise<Manifest> {
  if (await isThere(target)) throw taken(target);
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
    // Another backup may have got this name meanwhile.
    throw isCode(error, 'ENOTEMPTY') ? taken(target) : explainedFull(error, folder);
  } finally {
    unlock?.();
  }
}

const taken = (target: string): SvcError =>
  new SvcError('file-not-written', `${target} exists: name a folder that does not exist`);

/**
 * Removes what killed backups to this folder have left, because it contains secrets. The folder of
 * a running backup is locked, and stays. When a process is killed, the system releases its lock.
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
 * Copies the database, the keys, the token and the files of NATS. The copied
 * key fits the copied database, even if the key is replaced meanwhile.
 *
 * @throws SvcError `bad-backup` when the key is replaced during each of {@link TRIES} tries,
 *   or when the copied database is damaged
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
 * The keys of the data folder as one text, to notice that a key was replaced. A
 * key that cannot be read counts as empty here; copying it reports the error.
 */
async function keyText(folder: string): Promise<string> {
  const texts = KEY_FILES.map((name) => readFile(join(folder, name), 'utf8').catch(() => ''));
  return (await Promise.all(texts)).join('\n');
}

/**
 * Copies the files of `svc region` whose names match: keys (`*.nk`), and
 * configurations and the state, which contain only the public halves of the keys.
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

/** Adds advice to an error about a file that this user may not read. Returns any other error unchanged. */
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
    // SQLite may leave these files beside a database that was checked. They hold nothing of it.
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
