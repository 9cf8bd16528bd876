import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ApiError } from '@svc/shared/api/api-error.ts';
import { ApiClient, type ApiLimits } from '@svc/shared/api/client.ts';
import { baseUrlProblem, tokenProblem } from '@svc/shared/api/client-settings.ts';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { VERSION } from '@svc/shared/version.ts';
import { z } from 'zod';
import { CLI_SETTINGS } from './cli-settings.ts';
import { type Surroundings, UsageError } from './command.ts';
import { replaceFile } from './replace-file.ts';
import { type FoundToken, findToken, tokenWarning } from './token.ts';

/**
 * Maximum time for which a request is repeated while the service
 * never answers, ms. It is short because a person is waiting.
 */
const NEVER_ANSWERED_MS = 5_000;

export type OpenApi = { readonly client: ApiClient; readonly baseUrl: string; readonly token: FoundToken };

/**
 * Opens the API that the settings or the stored login name. It writes warnings about the settings to stderr.
 *
 * @param patience time limits that replace the usual limits
 * @throws SettingsError when a setting is wrong
 * @throws UsageError when there is no token, or the stored login cannot be read
 */
export function openApi(
  { environment: given, err }: Surroundings,
  patience: Partial<ApiLimits> = {},
): OpenApi {
  const kept = loginInUse(given);
  const environment =
    kept === null ? given : { ...given, SVC_BASE_URL: kept.base_url, SVC_API_TOKEN: kept.token };
  const { values: settings, warnings } = readEnvironment(CLI_SETTINGS, environment);
  const found = findToken(settings, environment);
  const token = kept === null ? found : { ...found, source: kept.path };
  const { baseUrl } = settings;
  for (const warning of [...warnings, tokenWarning(baseUrl) ?? []].flat()) err.write(`svc: ${warning}\n`);
  const limits = { neverAnsweredMs: NEVER_ANSWERED_MS, ...patience };
  const client = new ApiClient({ baseUrl, token: token.token, userAgent: `svc-cli/${VERSION}`, limits });
  return { client, baseUrl, token };
}

/** The stored login; null when there is none, or when the environment sets the address or a token. */
function loginInUse(environment: NodeJS.ProcessEnv): KeptLogin | null {
  const { SVC_BASE_URL, SVC_API_TOKEN, SVC_API_TOKEN_FILE } = environment;
  return SVC_BASE_URL || SVC_API_TOKEN || SVC_API_TOKEN_FILE ? null : keptLogin(environment);
}

/** Runs `work`. If the API refuses the token, the error says where the token comes from. */
export async function asking<T>({ token }: OpenApi, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new SvcError('unauthorized', `${error.message}; the token comes from ${token.source}`, {
      cause: error,
    });
  }
}

/**
 * The content of the file that `svc login` writes. Commands use
 * it when the settings name neither an address nor a token.
 */
const login = z.object({
  base_url: z.string().refine((text) => baseUrlProblem(text) === null),
  token: z.string().refine((text) => tokenProblem(text) === null),
});
type Login = z.infer<typeof login>;
/** A login with the path of its file. */
type KeptLogin = Login & { readonly path: string };

/**
 * Path of the file that `svc login` writes (XDG Base Directory
 * Specification). Null when the environment names neither a configuration folder nor a home folder.
 */
export function loginFile({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv): string | null {
  const folder = XDG_CONFIG_HOME || (HOME ? join(HOME, '.config') : '');
  return folder === '' ? null : join(folder, 'svc', 'login.json');
}

/**
 * The stored login; null when there is none.
 *
 * @throws UsageError when the file cannot be read
 */
function keptLogin(environment: NodeJS.ProcessEnv): KeptLogin | null {
  const path = loginFile(environment);
  if (path === null) return null;
  try {
    return { ...login.parse(JSON.parse(readFileSync(path, 'utf8'))), path };
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    const why =
      error instanceof z.ZodError || error instanceof SyntaxError
        ? 'it is no file of "svc login"'
        : messageOf(error);
    throw new UsageError(`cannot read ${path}: ${why}; call "svc login" again, or remove it`, {
      cause: error,
    });
  }
}

/** Stores the login in a file that only the owner may read. */
export async function keepLogin(path: string, kept: Login): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, `${JSON.stringify(kept, null, 2)}\n`);
}
