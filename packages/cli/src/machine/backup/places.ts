import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { COORDINATOR_SETTINGS, databasePathOf } from '@svc/coordinator/config.ts';
import {
  API_TOKEN_FILE,
  PREVIOUS_SECRET_KEY_FILE,
  readSecretFile,
  SECRET_KEY_FILE,
  type SecretKeys,
} from '@svc/coordinator/store/access/key-files.ts';
import { isCode, messageOf } from '@svc/shared/errors.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { CLI_SETTINGS } from '../../settings.ts';
import { UsageError } from '../../usage-error.ts';
import { userPath } from '../../write-file.ts';

/** The settings that say where the coordinator's data are. */
export const PLACES = {
  dataDir: COORDINATOR_SETTINGS.dataDir,
  databaseUrl: COORDINATOR_SETTINGS.databaseUrl,
  secretKey: COORDINATOR_SETTINGS.secretKey,
  previousSecretKey: COORDINATOR_SETTINGS.previousSecretKey,
  natsDir: CLI_SETTINGS.natsDir,
};

export type Places = {
  readonly dataDir: string;
  readonly database: string;
  /** Folder of "svc region". */
  readonly natsDir: string;
  /** Keys that the settings give; null: they are in the data folder. */
  readonly keysOfSettings: SecretKeys | null;
};

/** Files with secrets that svc makes, in the data folder and in a backup. */
export const KEY_FILES = [SECRET_KEY_FILE, PREVIOUS_SECRET_KEY_FILE] as const;
export const SECRET_FILES = [...KEY_FILES, API_TOKEN_FILE] as const;
/** Name of the database in a backup. */
export const DATABASE_FILE = 'svc.db';
/** Name of the folder of `svc region` in a backup. */
export const NATS_FOLDER = 'nats-server';

/** @throws SettingsError */
export function placesOf(environment: NodeJS.ProcessEnv): Places {
  const { values } = readEnvironment(PLACES, environment);
  const { secretKey, previousSecretKey, databaseUrl } = values;
  const dataDir = userPath(values.dataDir, environment);
  return {
    dataDir,
    natsDir: userPath(values.natsDir ?? join(dataDir, NATS_FOLDER), environment),
    database: userPath(databasePathOf(databaseUrl, dataDir), environment),
    keysOfSettings: secretKey === undefined ? null : { key: secretKey, previous: previousSecretKey ?? null },
  };
}

/**
 * Names of the keys and accounts of NATS that "svc region" keeps in this folder; none where there is no such folder.
 *
 * @throws UsageError when the folder cannot be read: a backup without the keys in it would look complete
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

/** The keys in a folder; null where it has none. */
export async function keysIn(folder: string): Promise<SecretKeys | null> {
  const key = await readSecretFile(join(folder, SECRET_KEY_FILE));
  return key === null
    ? null
    : { key, previous: await readSecretFile(join(folder, PREVIOUS_SECRET_KEY_FILE)) };
}
