import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@svc/shared/errors.ts';
import { describeSettings, readEnvironment } from '@svc/shared/settings/environment.ts';
import { forTerminal } from '@svc/shared/text/terminal.ts';
import { z } from 'zod';
import { asking, type OpenApi, openApi } from './api.ts';
import { CLI_SETTINGS } from './cli-settings.ts';
import { type Command, runOf, type Surroundings, UsageError } from './command.ts';
import { describeOptions, parseOptions, requireId } from './options.ts';
import { replaceFile } from './replace-file.ts';
import { table } from './table.ts';
import { GENERATED_TOKEN_FILE } from './token.ts';
import { userPath } from './write-file.ts';

const SCOPES = ['read', 'write', 'admin'] as const;

const CREATE = {
  name: { value: 'NAME', description: 'purpose of the token' },
  scope: { value: SCOPES.join('|'), oneOf: SCOPES, description: 'what the token may do (the default: read)' },
  expires: {
    value: 'DAYS',
    description: 'days until the token expires; without it, never, or when the token that makes it expires',
  },
  workspace: { value: 'ID', description: "for another workspace; with the operator's token only" },
} as const;

const REVOKE = {
  cascade: { description: 'also revoke the tokens that it made, and those that they made' },
} as const;

const DAY_MS = 86_400_000;

export const tokenCommand: Command = {
  help: `Usage: npm run svc -- token list
       npm run svc -- token create --name NAME [options]
       npm run svc -- token revoke ID [--cascade]
       npm run svc -- token rotate [--finish]

rotate gives the operator's token, which is in a file of the coordinator's machine (SVC_API_TOKEN_FILE, or api-token in SVC_DATA_DIR), a
successor: both are valid until "token rotate --finish". The coordinator reads the file again by itself.

The others need a token of scope admin. A new token is written to stdout, once: use "npm run --silent svc -- token create …".

Options of create:
${describeOptions(CREATE)}

Options of revoke:
${describeOptions(REVOKE)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  run: runOf('token', { list, create, revoke, rotate: rotateOperatorToken }),
};

const listed = z.object({
  id: z.string(),
  name: z.string(),
  scope: z.string(),
  created_by: z.object({ name: z.string() }).nullable(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
});

async function list(args: readonly string[], surroundings: Surroundings): Promise<void> {
  parseOptions(args, {});
  const api = openApi(surroundings);
  const rows = [['ID', 'SCOPE', 'EXPIRES', 'LAST USED', 'MADE BY', 'NAME']];
  await asking(api, async () => {
    for await (const token of api.client.list('/v1/tokens')) rows.push(rowOf(listed.parse(token)));
  });
  surroundings.out.write(table(rows));
}

function rowOf({ id, scope, name, created_by, expires_at, last_used_at }: z.infer<typeof listed>): string[] {
  const day = (instant: string | null, otherwise: string) => instant?.slice(0, 10) ?? otherwise;
  const made = created_by === null ? '-' : created_by.name;
  return [id, scope, day(expires_at, 'never'), day(last_used_at, 'never'), made, name].map(forTerminal);
}

const made = z.object({ id: z.string(), token: z.string() });

async function create(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const given = parseOptions(args, CREATE);
  if (given.name === undefined) throw new UsageError('--name is required: name the purpose of the token');
  const body = {
    name: given.name,
    scope: given.scope ?? 'read',
    ...(given.expires === undefined ? {} : { expires_at: expiryIn(given.expires) }),
    ...(given.workspace === undefined ? {} : { workspace_id: given.workspace }),
  };
  const api = openApi(surroundings);
  // A token is shown only once. So the API refuses a repetition
  // of this request, and names the id of the first token.
  const answer = await asking(api, () =>
    api.client.post('/v1/tokens', body, { idempotencyKey: randomUUID() }),
  );
  const { id, token } = made.parse(answer.body);
  surroundings.out.write(`${token}\n`);
  surroundings.err.write(`svc: made token ${id} at ${api.baseUrl}; it is not shown again\n`);
}

function expiryIn(days: string): string {
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new UsageError(`--expires must be a number of days, not "${days}"`);
  return new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

async function revoke([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'token', '"token list" shows it');
  const { cascade } = parseOptions(args, REVOKE);
  const api: OpenApi = openApi(surroundings);
  await asking(api, () => api.client.delete(`/v1/tokens/${id}`, { query: { cascade } }));
  surroundings.err.write(`svc: revoked token ${id}${cascade ? ' and the tokens that it made' : ''}\n`);
}

const ROTATE = { finish: { description: 'the former token is refused from now on' } } as const;

/**
 * Replaces the operator's token in its file, in two calls. After the first
 * call, both tokens are valid, and clients read the new token, which is in the
 * first line. After the second call (`--finish`), only the new token is valid.
 *
 * @throws UsageError when a setting holds the token, when its file
 *   cannot be read, or when an earlier rotation is not finished
 */
async function rotateOperatorToken(
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
      `cannot read the operator's token in ${path} (${messageOf(error)}): set SVC_DATA_DIR to the data folder of the coordinator, or SVC_API_TOKEN_FILE`,
      { cause: error },
    );
  }
  const [token, former] = text.split(/\r?\n/).filter((line) => line !== '');
  if (token === undefined) throw new UsageError(`${path} has no token`);
  return [token, former];
}
