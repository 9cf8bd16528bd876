import { randomBytes } from 'node:crypto';
import { link, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isCode, messageOf } from '@svc/shared/errors.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { CLI_SETTINGS } from './cli-settings.ts';
import { type Command, runOf, type Surroundings, UsageError } from './command.ts';
import { parseOptions } from './options.ts';
import { replaceFile } from './replace-file.ts';

/** Names of the files in the coordinator's data folder that hold its key and its previous key. */
export const SECRET_KEY_FILE = 'secret-key';
export const PREVIOUS_SECRET_KEY_FILE = 'secret-key-previous';

const KEY_BYTES = 32;

export const secretKeyCommand: Command = {
  help: `Usage: npm run svc -- secret-key rotate

Makes a new key in the data folder (SVC_DATA_DIR) and keeps the former one beside it. The next start of the coordinator
opens secrets with either, encrypts all of them with the new one, and removes the former. A backup from before needs the
former key: keep it with the backup.

If SVC_SECRET_KEY sets the key: make one with "openssl rand -base64 32", set it as SVC_SECRET_KEY and the former one as
SVC_SECRET_KEY_PREVIOUS, restart the coordinator, and remove SVC_SECRET_KEY_PREVIOUS when its log says so.
`,
  run: runOf('secret-key', { rotate }),
};

async function rotate(args: readonly string[], { environment, err }: Surroundings): Promise<void> {
  parseOptions(args, {});
  if (environment.SVC_SECRET_KEY || environment.SVC_SECRET_KEY_FILE) {
    throw new UsageError('SVC_SECRET_KEY sets the key, so change it there: see secret-key --help');
  }
  const { dataDir } = readEnvironment(CLI_SETTINGS, environment).values;
  const [path, previous] = [join(dataDir, SECRET_KEY_FILE), join(dataDir, PREVIOUS_SECRET_KEY_FILE)];
  await requireKey(path);
  await keepFormer(path, previous);
  await replaceFile(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  err.write(
    `svc: ${path} has a new key, and ${PREVIOUS_SECRET_KEY_FILE} the former one: restart the coordinator, which encrypts everything with the new key\n`,
  );
}

async function requireKey(path: string): Promise<void> {
  try {
    if (Buffer.from(await readFile(path, 'utf8'), 'base64').length === KEY_BYTES) return;
  } catch (error) {
    throw new UsageError(
      `there is no key to replace in ${path} (${messageOf(error)}): set SVC_DATA_DIR to the data folder of the coordinator`,
      { cause: error },
    );
  }
  throw new UsageError(`${path} is not a key: it must have ${KEY_BYTES} bytes in base64`);
}

/**
 * Keeps the former key as a hard link, because creating a link never
 * replaces a file: the key of an earlier rotation may still be needed.
 */
async function keepFormer(path: string, previous: string): Promise<void> {
  try {
    await link(path, previous);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    throw new UsageError(
      `${previous} exists: the former change of the key is not finished; start the coordinator once, which removes the file`,
      { cause: error },
    );
  }
}
