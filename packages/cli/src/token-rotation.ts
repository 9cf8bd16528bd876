import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@svc/shared/errors.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import type { Surroundings } from './command.ts';
import { parseOptions } from './options.ts';
import { replaceFile } from './replace-file.ts';
import { CLI_SETTINGS } from './settings.ts';
import { GENERATED_TOKEN_FILE } from './token.ts';
import { UsageError } from './usage-error.ts';
import { userPath } from './write-file.ts';

const ROTATE = { finish: { description: 'the former token is refused from now on' } } as const;

/**
 * Replaces the operator's token in its file: first both are valid, then the new one alone. Clients use the first line.
 *
 * @throws UsageError
 */
export async function rotateOperatorToken(
  args: readonly string[],
  { environment, err }: Surroundings,
): Promise<void> {
  const { finish } = parseOptions(args, ROTATE);
  if (environment.SVC_API_TOKEN) {
    throw new UsageError(
      'SVC_API_TOKEN sets the token, which only a restart changes: give it as SVC_API_TOKEN_FILE, or change it there',
    );
  }
  const { dataDir } = readEnvironment({ dataDir: CLI_SETTINGS.dataDir }, environment).values;
  const path = userPath(environment.SVC_API_TOKEN_FILE || join(dataDir, GENERATED_TOKEN_FILE), environment);
  const [token, former] = await tokensIn(path);
  if (finish) {
    await replaceFile(path, `${token}\n`);
    err.write(`svc: ${path} has the new token only: the former one is refused within some seconds\n`);
    return;
  }
  if (former !== undefined)
    throw new UsageError(`${path} still has a former token: end that rotation with "token rotate --finish"`);
  await replaceFile(path, `svc_${randomBytes(32).toString('base64url')}\n${token}\n`);
  err.write(
    `svc: ${path} has a new token in its first line: give it to all clients, then call "token rotate --finish"; both are valid until then\n`,
  );
}

async function tokensIn(path: string): Promise<[string, string | undefined]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(
      `cannot read the operator's token (${messageOf(error)}): set SVC_DATA_DIR to the data folder of the coordinator, or SVC_API_TOKEN_FILE`,
      { cause: error },
    );
  }
  const [token, former] = text.split(/\r?\n/).filter((line) => line !== '');
  if (token === undefined) throw new UsageError(`${path} has no token`);
  return [token, former];
}
