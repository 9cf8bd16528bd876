import { chmod, chown, copyFile, lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SecretKeys } from '@svc/coordinator/store/access/key-files.ts';
import { checkDatabase, forgetExportedCounts } from '@svc/coordinator/store/sqlite/backup.ts';
import { lockDatabaseFile } from '@svc/coordinator/store/sqlite/database-files.ts';
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

/** Suffix of the drafts that a restore writes before it renames them. */
const PART = '.restoring';

export type Restored = {
  readonly manifest: Manifest;
  /** Whether the operator still has to supply the secret key. */
  readonly needsKey: boolean;
  /** Whether this machine keeps its own keys of NATS. */
  readonly keepsNats: boolean;
};

/**
 * Restores a backup into an empty data folder that no coordinator uses. The database gets its name
 * last. So after an interrupted restore there is no database, and the restore can be repeated.
 *
 * @throws UsageError when the folder is not empty
 * @throws SvcError `bad-backup`, `file-not-written`, or the error of the lock when the database is in use
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
    // A coordinator that is started during the restore finds the database locked, and ends.
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

/**
 * Copies the files of the backup under the names of drafts,
 * checks the database, and then gives all files their own names.
 */
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
    // After a failure, the drafts are removed, because they contain secrets and take space on the disk.
    for (const draft of drafts) await rm(draft, { force: true });
  }
}

/**
 * Gives a file that root has written to the owner of the folder that contains
 * it, because a coordinator that may not read its files does not start.
 */
export async function giveToOwner(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dirname(path));
  await chown(path, uid, gid);
}

function placeOf(name: string, { dataDir, database, natsDir }: Places): string {
  if (name.startsWith(`${NATS_FOLDER}/`)) return join(natsDir, name.slice(NATS_FOLDER.length + 1));
  return name === DATABASE_FILE ? database : join(dataDir, name);
}

/**
 * Whether the folder contains keys or accounts of NATS that
 * an unfinished restore of this backup has not written.
 */
async function isUsed(natsDir: string, { files }: Manifest): Promise<boolean> {
  for (const name of await natsFilesIn(natsDir)) {
    if (files[`${NATS_FOLDER}/${name}`] !== (await sumOf(join(natsDir, name)))) return true;
  }
  return false;
}

/**
 * Checks that the places for the backup are empty.
 *
 * @throws UsageError when the data folder contains a file
 *   that an unfinished restore of this backup has not written
 */
async function requireEmpty({ dataDir, database, natsDir }: Places, { files }: Manifest): Promise<void> {
  const folders = new Set([dataDir, dirname(database)]);
  for (const folder of folders) {
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name.endsWith(PART) || path === `${database}.lock` || path === natsDir) continue;
      // An interrupted restore may have renamed some files, but not the database.
      if (path !== database && name !== DATABASE_FILE && files[name] === (await sumOf(path))) continue;
      // A database outside the data folder may share its folder with files of other programs.
      if (folder !== dataDir && path !== database) continue;
      throw new UsageError(
        `${folder} is not empty (${name}): restore into an empty folder, and move the present one away first`,
      );
    }
  }
}

/** Checksum of a file; null when the path is not a file. */
async function sumOf(path: string): Promise<string | null> {
  return (await lstat(path)).isFile() ? await sha256Of(path) : null;
}
