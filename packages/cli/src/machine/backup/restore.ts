import { chmod, chown, copyFile, lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SecretKeys } from '@svc/coordinator/store/access/key-files.ts';
import { checkDatabase, forgetExportedCounts } from '@svc/coordinator/store/sqlite/backup.ts';
import { lockDatabaseFile } from '@svc/coordinator/store/sqlite/file-lock.ts';
import { UsageError } from '../../command.ts';
import { syncFolder } from '../../replace-file.ts';
import { checkedManifest, type Manifest, sha256Of } from './manifest.ts';
import {
  DATABASE_FILE,
  explainedFull,
  keysIn,
  NATS_FOLDER,
  natsFilesIn,
  type Places,
  requireRoom,
  sizeOfDatabase,
} from './places.ts';

/** Ends the names of files of a restore that is not complete. */
const PART = '.restoring';

export type Restored = {
  readonly manifest: Manifest;
  /** Whether the secret key still has to be brought. */
  readonly needsKey: boolean;
  /** Whether the keys of NATS of this machine stay. */
  readonly keepsNats: boolean;
};

/**
 * Restores a backup into an empty data folder, which no coordinator uses. The database gets its name last: where the
 * restore is cut short there is none, and it can be begun again.
 *
 * @throws UsageError, SvcError `bad-backup`, `file-not-written`
 */
export async function restoreBackup(backup: string, places: Places): Promise<Restored> {
  const manifest = await checkedManifest(backup);
  const keys = places.keysOfSettings ?? (await keysIn(backup));
  const folder = dirname(places.database);
  let unlock: (() => void) | null = null;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await mkdir(places.dataDir, { recursive: true, mode: 0o700 });
    await requireRoom(folder, await sizeOfDatabase(join(backup, DATABASE_FILE)));
    // A coordinator that is started meanwhile finds the database locked, and ends.
    unlock = lockDatabaseFile(places.database);
    await giveToOwner(`${places.database}.lock`);
    await requireEmpty(places, manifest);
    const keepsNats = await isUsed(places.natsDir, manifest);
    const names = Object.keys(manifest.files).filter((name) => !(keepsNats && name.startsWith(NATS_FOLDER)));
    await bring(backup, names, places, keys);
    return { manifest, needsKey: keys === null, keepsNats };
  } catch (error) {
    throw explainedFull(error, folder);
  } finally {
    unlock?.();
  }
}

/** Copies the files of the backup, checks the database, and gives all of them their names. */
async function bring(
  backup: string,
  names: readonly string[],
  places: Places,
  keys: SecretKeys | null,
): Promise<void> {
  const parts = names.map((name) => ({ name, path: placeOf(name, places) }));
  const drafts: string[] = [];
  try {
    for (const { name, path } of parts) {
      const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      if (made !== undefined) await giveToOwner(made);
      drafts.push(`${path}${PART}`);
      await copyFile(join(backup, name), `${path}${PART}`);
      await giveToOwner(`${path}${PART}`);
      const isOfServer = name.startsWith(NATS_FOLDER) && name.endsWith('.conf');
      await chmod(`${path}${PART}`, isOfServer ? 0o644 : 0o600);
    }
    const copy = `${places.database}${PART}`;
    checkDatabase(copy, keys);
    forgetExportedCounts(copy);
    for (const end of ['-wal', '-shm']) await rm(`${copy}${end}`, { force: true });
    const isDatabase = ({ name }: { name: string }): boolean => name === DATABASE_FILE;
    for (const { path } of parts.toSorted((a, b) => Number(isDatabase(a)) - Number(isDatabase(b)))) {
      await rename(`${path}${PART}`, path);
      await syncFolder(dirname(path));
    }
  } finally {
    // After a failure the drafts must go, because they have secrets and fill the disk.
    for (const draft of drafts) await rm(draft, { force: true });
  }
}

/** Root restores for the user of the folder: a coordinator that may not read its files does not start. */
async function giveToOwner(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dirname(path));
  await chown(path, uid, gid);
}

function placeOf(name: string, { dataDir, database, natsDir }: Places): string {
  if (name.startsWith(`${NATS_FOLDER}/`)) return join(natsDir, name.slice(NATS_FOLDER.length + 1));
  return name === DATABASE_FILE ? database : join(dataDir, name);
}

/** Whether the folder holds keys or accounts of NATS that an unfinished restore of this backup has not brought. */
async function isUsed(natsDir: string, { files }: Manifest): Promise<boolean> {
  for (const name of await natsFilesIn(natsDir)) {
    if (files[`${NATS_FOLDER}/${name}`] !== (await sumOf(join(natsDir, name)))) return true;
  }
  return false;
}

/** @throws UsageError where the data folder holds something that is not of an unfinished restore of this backup */
async function requireEmpty({ dataDir, database, natsDir }: Places, { files }: Manifest): Promise<void> {
  const folders = new Set([dataDir, dirname(database)]);
  for (const folder of folders) {
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name.endsWith(PART) || path === `${database}.lock` || path === natsDir) continue;
      // A restore that was cut short has given some files their names, and the database not yet.
      if (path !== database && name !== DATABASE_FILE && files[name] === (await sumOf(path))) continue;
      // Another folder than the data folder may hold other programs' files.
      if (folder !== dataDir && path !== database) continue;
      throw new UsageError(
        `${folder} is not empty (${name}): restore into an empty folder, and move the present one away first`,
      );
    }
  }
}

/** Null where it is no file. */
async function sumOf(path: string): Promise<string | null> {
  return (await lstat(path)).isFile() ? await sha256Of(path) : null;
}
