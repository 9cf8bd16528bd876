import { rm } from 'node:fs/promises';
import { ApiError } from '@svc/shared/api/api-error.ts';
import { firstToken, tokenProblem } from '@svc/shared/api/client-settings.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import { asking, keepLogin, loginFile, type OpenApi, openApi } from './api.ts';
import { CLI_SETTINGS } from './cli-settings.ts';
import { type Command, type Surroundings, UsageError } from './command.ts';
import { parseOptions } from './options.ts';

/** Number of characters after which reading the token from standard input ends. */
const LONGEST_INPUT = 4_096;

export const loginCommand: Command = {
  help: `Usage: npm run svc -- login URL < TOKEN_FILE
       npm run svc -- login URL
       npm run svc -- login
       npm run svc -- logout

Prints a link that logs a browser in to the dashboard: once, within 15 minutes, with what the token may do. Without URL it does nothing
else, and uses the API and the token of the other commands.

With URL it reads a token from standard input, tries it at the API, and keeps both in ~/.config/svc/login.json, which only its owner may read.
SVC_BASE_URL and SVC_API_TOKEN win over it. Where SVC_API_TOKEN is set, that token is kept, and nothing is read.

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  async run([url, ...args], surroundings) {
    parseOptions(args, {});
    if (url === undefined) return writeLink(openApi(surroundings), surroundings);
    if (url.startsWith('-')) throw new UsageError(`unknown option ${url}: use login https://svc.example.com`);
    const path = requiredFile(surroundings);
    const token = await tokenOf(surroundings);
    const { SVC_API_TOKEN_FILE: _, ...environment } = surroundings.environment;
    const api = openApi({
      ...surroundings,
      environment: { ...environment, SVC_BASE_URL: url, SVC_API_TOKEN: token },
    });
    const source = surroundings.environment.SVC_API_TOKEN ? 'SVC_API_TOKEN' : 'standard input';
    await asking({ ...api, token: { ...api.token, source } }, () =>
      api.client.get('/v1/monitors', { query: { limit: 1 } }),
    );
    await keepLogin(path, { base_url: api.client.baseUrl, token });
    surroundings.err.write(`svc: ${api.baseUrl} takes the token; both are kept in ${path}\n`);
    await writeLink(api, surroundings);
  },
};

const loginLink = z.object({ url: z.url() });

/**
 * Writes a link to the dashboard to stdout. A service that
 * is too old to have a dashboard is reported on stderr.
 */
async function writeLink(api: OpenApi, { out, err }: Surroundings): Promise<void> {
  try {
    const { body } = await asking(api, () => api.client.request('POST', '/v1/login-links'));
    const { url } = loginLink.parse(body);
    err.write('svc: the dashboard, logged in, once and within 15 minutes:\n');
    out.write(`${url}\n`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404 || error.code === 'not-the-api') throw error;
    err.write('svc: this service is older than the dashboard\n');
  }
}

export const logoutCommand: Command = {
  help: `Usage: npm run svc -- logout

Removes the file of "svc login". The token stays valid: revoke it with "svc token revoke".
`,
  async run(args, surroundings) {
    parseOptions(args, {});
    const path = requiredFile(surroundings);
    await rm(path, { force: true });
    surroundings.err.write(`svc: removed ${path}\n`);
  },
};

function requiredFile({ environment }: Surroundings): string {
  const path = loginFile(environment);
  if (path === null) throw new UsageError('HOME is not set: there is no place to keep a login');
  return path;
}

async function tokenOf({ environment, input, err }: Surroundings): Promise<string> {
  if (environment.SVC_API_TOKEN) return firstToken(environment.SVC_API_TOKEN);
  if (input?.isTTY) err.write('Token (it is shown as you type): ');
  let text = '';
  for await (const chunk of input ?? []) {
    text += String(chunk);
    if (text.includes('\n') || text.length > LONGEST_INPUT) break;
  }
  const token = firstToken(text.trim());
  const problem = tokenProblem(token);
  if (problem !== null) throw new UsageError(`the token on standard input ${problem}`);
  return token;
}
