import { randomBytes } from 'node:crypto';
import { chmod, copyFile, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkDatabase, copyDatabase } from '@svc/coordinator/store/backup.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { VERSION } from '@svc/shared/version.ts';
import { replaceFile, syncFolder } from '../../replace-file.ts';
import { UsageError } from '../../usage-error.ts';
import { requireAbsent } from '../../write-file.ts';
import { MANIFEST_FILE, type Manifest, sha256Of } from './manifest.ts';
import { DATABASE_FILE, KEY_FILES, keysIn, NATS_FOLDER, type Places, SECRET_FILES } from './places.ts';

/** Times that a copy is begun anew because the key was replaced meanwhile. */
const TRIES = 3;

export type BackupOptions = {
  /** Whether the secret key is left out, to be kept elsewhere. */
  readonly isWithoutKeys: boolean;
};

/**
 * Writes a backup of the data folder to a new folder, while a coordinator may run. The folder has its name only when
 * everything in it is written, durable and checked.
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
  const draft = `${target}.${randomBytes(6).toString('hex')}.part`;
  await mkdir(dirname(target), { recursive: true });
  try {
    await mkdir(draft, { mode: 0o700 });
    await copyConsistently(places, draft, options);
    const made: Manifest = {
      v: 1,
      made_at: new Date().toISOString(),
      version: VERSION,
      files: await sumsOf(draft),
    };
    await replaceFile(join(draft, MANIFEST_FILE), `${JSON.stringify(made, null, 2)}\n`);
    await rename(draft, target);
    await syncFolder(dirname(target));
    return made;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

/** Copies everything. The key is the one of the database, also where it is replaced meanwhile. */
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
  if (isWithoutKeys || places.keysOfSettings !== null) {
    for (const name of KEY_FILES) await rm(join(draft, name), { force: true });
  }
  await copyNatsFolder(places.natsDir, draft);
}

/** The keys of the data folder as one text. */
async function keyText(folder: string): Promise<string> {
  const texts = KEY_FILES.map((name) => readFile(join(folder, name), 'utf8').catch(() => ''));
  return (await Promise.all(texts)).join('\n');
}

/** Keys and accounts of NATS that "svc region" keeps. */
async function copyNatsFolder(folder: string, draft: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile() && /\.(?:nk|conf|json)$/.test(entry.name));
  if (names.length === 0) return;
  await mkdir(join(draft, NATS_FOLDER), { mode: 0o700 });
  await copyIfThere(
    folder,
    join(draft, NATS_FOLDER),
    names.map(({ name }) => name),
  );
}

async function copyIfThere(from: string, to: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await rm(join(to, name), { force: true });
    const isThere = await copyFile(join(from, name), join(to, name)).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return false;
        throw error;
      },
    );
    if (isThere) await chmod(join(to, name), 0o600);
  }
}

/** The sums of all files in the folder and the folders in it; makes each of them durable. */
async function sumsOf(folder: string): Promise<Manifest['files']> {
  const sums: Manifest['files'] = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) {
      await syncFolder(path);
      continue;
    }
    // SQLite leaves these beside a database that it has checked; they are empty.
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
