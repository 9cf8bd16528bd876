import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { COORDINATOR_SETTINGS, databaseFileOf } from '@svc/coordinator/config.ts';
import {
  API_TOKEN_FILE,
  PREVIOUS_SECRET_KEY_FILE,
  readSecretFile,
  SECRET_KEY_FILE,
  type SecretKeys,
} from '@svc/coordinator/store/access/key-files.ts';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { CLI_SETTINGS } from '../../cli-settings.ts';
import { UsageError } from '../../command.ts';
import { userPath } from '../../write-file.ts';

/** The settings that say where the coordinator's data and keys are. */
export const PLACES = {
  dataDir: COORDINATOR_SETTINGS.dataDir,
  databaseUrl: COORDINATOR_SETTINGS.databaseUrl,
  secretKey: COORDINATOR_SETTINGS.secretKey,
  previousSecretKey: COORDINATOR_SETTINGS.previousSecretKey,
  natsDir: CLI_SETTINGS.natsDir,
};

/** Where the data and the keys of the coordinator are. All paths are absolute. */
export type Places = {
  readonly dataDir: string;
  readonly database: string;
  /** Folder with the files of `svc region`. */
  readonly natsDir: string;
  /** Secret keys that the settings contain; null when the keys are in the data folder. */
  readonly keysOfSettings: SecretKeys | null;
};

/** Names of the files with the secret keys, in the data folder and in a backup. */
export const KEY_FILES = [SECRET_KEY_FILE, PREVIOUS_SECRET_KEY_FILE] as const;
/** Names of all files with secrets that the coordinator makes, in the data folder and in a backup. */
export const SECRET_FILES = [...KEY_FILES, API_TOKEN_FILE] as const;
/** Name of the database in a backup. */
export const DATABASE_FILE = 'svc.db';
/** Name of the folder in a backup that has the files of `svc region`. */
export const NATS_FOLDER = 'nats-server';

/**
 * Finds the places in the settings.
 *
 * @throws SettingsError when a setting is wrong
 * @throws UsageError when the database is not a file
 */
export function placesOf(environment: NodeJS.ProcessEnv): Places {
  const { values } = readEnvironment(PLACES, environment);
  const { secretKey, previousSecretKey, databaseUrl } = values;
  const dataDir = userPath(values.dataDir, environment);
  const file = databaseFileOf(databaseUrl, dataDir);
  if (file === null) {
    throw new UsageError(
      'SVC_DATABASE_URL names a database of PostgreSQL: back it up and restore it with the programs of PostgreSQL (docs/postgresql.md)',
    );
  }
  return {
    dataDir,
    natsDir: userPath(values.natsDir ?? join(dataDir, NATS_FOLDER), environment),
    database: userPath(file, environment),
    keysOfSettings: secretKey === undefined ? null : { key: secretKey, previous: previousSecretKey ?? null },
  };
}

/**
 * Names of the files of `svc region` in its folder: keys, accounts, configurations
 * and the state. The list is empty when the folder does not exist.
 *
 * @throws UsageError when the folder cannot be read, because a backup without its keys would look complete
 */
export async function natsFilesIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && /\.(?:nk|json|conf)$/.test(entry.name))
      .map(({ name }) => name);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw new UsageError(`cannot read the keys of NATS in ${folder}: ${messageOf(error)}`, { cause: error });
  }
}

/** The secret keys in a folder; null when it has none. */
export async function keysIn(folder: string): Promise<SecretKeys | null> {
  const key = await readSecretFile(join(folder, SECRET_KEY_FILE));
  return key === null
    ? null
    : { key, previous: await readSecretFile(join(folder, PREVIOUS_SECRET_KEY_FILE)) };
}

const MIB = 1_024 ** 2;
/**
 * Space for everything except the database, bytes: the keys, the API token, the accounts, the manifest and
 * the folders.
 */
const RESERVE_BYTES = 2 * MIB;

/** Result code SQLITE_FULL (https://www.sqlite.org/rescode.html#full). */
const SQLITE_FULL = 13;
const WITHOUT_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * Space that a copy of a database may need, bytes. The content of the write-ahead log is part of the copy.
 */
export async function sizeOfDatabase(path: string): Promise<number> {
  const sizes = [path, `${path}-wal`].map((file) => stat(file).catch(() => ({ size: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

/**
 * Checks that a disk has room before anything is written to it,
 * because the database of the running service may be on the same disk.
 *
 * @param bytes size of the database
 * @throws SvcError `file-not-written` when there is not enough room
 */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bfree, bsize, blocks } = await statfs(folder);
  // Some network file systems do not report their size.
  if (blocks === 0) return;
  const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize;
  const needed = bytes + RESERVE_BYTES;
  if (free < needed)
    throw withoutRoom(folder, `some ${inMib(needed)} are needed, and ${inMib(free)} are left`);
}

/** Adds advice to an error about a full disk or a reached quota. Returns any other error unchanged. */
export function explainedFull(error: unknown, folder: string): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, errcode } = cause as { code?: unknown; errcode?: unknown };
    const isFull =
      WITHOUT_ROOM.has(String(code)) || (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_FULL);
    if (isFull) return withoutRoom(folder, messageOf(cause), error);
  }
  return error;
}

function withoutRoom(folder: string, why: string, cause?: unknown): SvcError {
  return new SvcError(
    'file-not-written',
    `there is no room in ${folder}: ${why}. Nothing was left there. Make room, or name a folder on another disk`,
    { cause },
  );
}

const inMib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;
