import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstToken, isReadableOnTheWay, isThisMachine } from '@svc/shared/api/client-settings.ts';
import { isCode, messageOf } from '@svc/shared/errors.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { CliSettings } from './cli-settings.ts';
import { UsageError } from './command.ts';

/**
 * Name of the file in the coordinator's data folder that holds the token which the coordinator has generated.
 */
export const GENERATED_TOKEN_FILE = 'api-token';

/** The warning that is shown before the token is sent in clear text; null when the connection is safe. */
export function tokenWarning(baseUrl: string): string | null {
  return isReadableOnTheWay(baseUrl)
    ? `the token goes to ${baseUrl} over plain HTTP, where others can read it: use https://`
    : null;
}

export type FoundToken = {
  readonly token: Secret;
  /** The setting or the file that holds the token, for people. */
  readonly source: string;
};

/**
 * Returns the token of the settings, or else the token that `npm start`
 * generated on this machine. The generated token is sent only to this machine.
 *
 * @throws UsageError when there is no token, or its file cannot be read
 */
export function findToken(settings: CliSettings, environment: NodeJS.ProcessEnv): FoundToken {
  if (settings.apiToken !== undefined) {
    const source = environment.SVC_API_TOKEN ? 'SVC_API_TOKEN' : 'SVC_API_TOKEN_FILE';
    return { token: settings.apiToken, source };
  }
  const path = join(settings.dataDir, GENERATED_TOKEN_FILE);
  if (!isThisMachine(new URL(settings.baseUrl).hostname)) {
    throw new UsageError(`set SVC_API_TOKEN to a token of ${settings.baseUrl}`);
  }
  try {
    const token = firstToken(readFileSync(path, 'utf8').trim());
    if (token !== '') return { token: new Secret(token), source: path };
  } catch (error) {
    if (!isCode(error, 'ENOENT'))
      throw new UsageError(`cannot read the token in ${path}: ${messageOf(error)}`, { cause: error });
  }
  throw new UsageError(
    `there is no API token: set SVC_API_TOKEN, or SVC_DATA_DIR to the data folder of the coordinator, with systemd /var/lib/svc (looked for ${path})`,
  );
}
