import { ID } from '@svc/shared/ids.ts';
import { z } from 'zod';
import { TOKEN_SCOPES, type Token, type Tokens, tokenVersion } from '../../store/access/tokens.ts';
import {
  findWorkspace,
  insertWorkspace,
  listWorkspaces,
  type Workspace,
} from '../../store/declaration/workspaces.ts';
import type { Transaction } from '../../store/store.ts';
import { OneTimeLinks } from '../../web/one-time-links.ts';
import { createdTokenView, tokenView, workspaceView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { instantText, instantTextOrNull, nameSchema } from '../body-members.ts';
import {
  type ApiRequest,
  endpoint,
  idOf,
  NO_CONTENT,
  ok,
  type ServedEndpoint,
  serve,
  workspaceOf,
} from '../endpoint.ts';
import { listOf, nameFilter, offsetPage } from '../lists.ts';
import { createsOnce, idempotencyKey, makeOnce } from '../objects.ts';
import { invalid, Problem, referenceNotFound } from '../problem.ts';
import { RateLimit, tooMany } from '../request-gate.ts';

const SCOPE_MESSAGE = 'must be read, write or admin';

const newToken = z
  .strictObject({
    name: nameSchema('Purpose of the token.'),
    scope: z.enum(TOKEN_SCOPES, SCOPE_MESSAGE).meta({
      description:
        '`read` sees everything but secrets. `write` sees secrets too, and changes the declarations. `admin` also manages tokens and reads the audit trail.',
    }),
    expires_at: z.iso
      .datetime({ offset: true, error: 'must be an instant as in 2027-01-01T00:00:00Z' })
      .nullish()
      .meta({
        description:
          'When the token expires (RFC 3339, in the future), at the latest when the token of this request does. The default is that instant, or never.',
      }),
    workspace_id: z.string('must be a string').regex(ID, 'must be the id of a workspace').nullish().meta({
      description:
        "Workspace of the new token. The default is the caller's; only the operator's token may name another.",
    }),
  })
  .meta({ examples: [{ name: 'Terraform', scope: 'write', expires_at: '2027-01-01T00:00:00Z' }] });

const removal = z.object({
  cascade: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .meta({ description: '`true`: also revoke the tokens that this token made.' }),
});

type TokenParts = Pick<ApiParts, 'store' | 'tokens' | 'clock' | 'secrets'>;

export function tokenEndpoints(parts: TokenParts): ServedEndpoint[] {
  return [listEndpoint(parts), createEndpoint(parts), removeEndpoint(parts)];
}

export const listTokens = endpoint({
  method: 'GET',
  path: '/v1/tokens',
  access: 'admin',
  tag: 'Tokens',
  summary: 'List the API tokens of the workspace',
  query: offsetPage.extend({
    name: nameFilter('name'),
    scope: z.enum(TOKEN_SCOPES, SCOPE_MESSAGE).optional().meta({ description: 'Only tokens of this scope.' }),
  }),
  answers: { 200: { description: 'A page of the list.', schema: listOf(tokenView) } },
});

function listEndpoint({ tokens }: TokenParts): ServedEndpoint {
  return serve(listTokens, (request) => {
    const { limit, offset, name = '', scope } = request.query;
    const all = tokens
      .list(workspaceOf(request))
      .filter((token) => token.name.toLowerCase().includes(name.toLowerCase()))
      .filter((token) => scope === undefined || token.scope === scope);
    return ok({
      data: all.slice(offset, offset + limit).map((token) => tokenViewOf(tokens, token)),
      total: all.length,
      limit,
      offset,
    });
  });
}

export const createToken = endpoint({
  method: 'POST',
  path: '/v1/tokens',
  access: 'admin',
  tag: 'Tokens',
  summary: 'Create an API token. Only this answer shows it',
  description:
    'Only a hash of the token is kept. A request that is repeated with its Idempotency-Key makes no second token, and cannot show the first token again. It is refused (409) with the id of the token, which can be revoked.',
  body: newToken,
  headers: ['Idempotency-Key'],
  answers: { 201: { description: 'Created.', schema: createdTokenView } },
  problems: ['conflict', 'reference-not-found'],
});

function createEndpoint({ store, tokens, clock, secrets }: TokenParts): ServedEndpoint {
  return serve(createToken, async (request) => {
    const { body } = request;
    const workspaceId = await grantedWorkspace(store, request);
    const now = clock.wall();
    const grant = {
      workspaceId,
      name: body.name,
      scope: body.scope,
      createdBy: request.token === null ? null : { id: request.token.id, name: request.token.name },
      expiresAt: expiryOf(body.expires_at, request.token?.expiresAt ?? null, now),
    };
    const key = idempotencyKey(request.header('idempotency-key'));
    const { token, secret } = await store.transaction(async (tx) => {
      const make = async () => {
        const created = await tokens.createIn(tx, grant, now);
        await request.audit.writeLine(tx, created.token.id);
        return created;
      };
      if (key === null) return make();
      let made: Awaited<ReturnType<Tokens['createIn']>> | null = null;
      const idempotent = { workspaceId: workspaceOf(request), key, path: '/v1/tokens', body };
      const { id } = await makeOnce({ tx, secrets, now }, idempotent, async () => {
        made = await make();
        return made.token.id;
      });
      return made ?? shownBefore(id);
    });
    return { status: 201, body: { ...tokenViewOf(tokens, token), token: secret.reveal() } };
  });
}

export const revokeToken = endpoint({
  method: 'DELETE',
  path: '/v1/tokens/{id}',
  access: 'admin',
  tag: 'Tokens',
  summary: 'Revoke an API token',
  description:
    "With `cascade`, the tokens that it made are revoked too, and those that these made, and so on. The token itself may have been revoked before, for example an operator's token that `SVC_API_TOKEN` no longer names.",
  query: removal,
  answers: { 204: { description: 'Revoked.' } },
  problems: ['conflict'],
});

function removeEndpoint({ store, tokens, clock }: TokenParts): ServedEndpoint {
  return serve(revokeToken, async (request) => {
    const id = idOf(request);
    const cascade = request.query.cascade === 'true';
    const outcome = await store.transaction(async (tx) => {
      const which = { workspaceId: workspaceOf(request), id, cascade };
      const outcome = await tokens.revokeIn(tx, which, clock.wall());
      if (outcome === 'revoked') await request.audit.writeLine(tx);
      return outcome;
    });
    if (outcome === 'unknown') throw new Problem('not-found', `there is no token ${id}`);
    if (outcome === 'operator') {
      throw new Problem(
        'conflict',
        "the API cannot revoke an operator's token: remove it from SVC_API_TOKEN or from its file",
      );
    }
    return NO_CONTENT;
  });
}

function shownBefore(id: number): never {
  throw new Problem(
    'conflict',
    `an earlier request with this Idempotency-Key created token ${id}, which cannot be shown again: revoke it, and use another key`,
  );
}

/**
 * Finds the workspace for which the caller may create a token: the
 * caller's own workspace or, if the caller is the operator, any workspace.
 *
 * @throws Problem when the wanted workspace does not exist, or the caller may not create tokens for it
 */
async function grantedWorkspace(
  store: ApiParts['store'],
  { token, body }: ApiRequest<unknown, z.infer<typeof newToken>>,
): Promise<number> {
  const own = workspaceOf({ token });
  const asked = Number(body.workspace_id ?? own);
  if (asked === own) return own;
  if (token?.isOperator === true && (await findWorkspace(store, asked)) !== null) return asked;
  throw referenceNotFound(['workspace_id'], `there is no workspace ${asked}`);
}

/**
 * Returns when a new token expires, epoch ms; null: never. A new token expires no later than the
 * token that creates it. Otherwise a person with a token for an hour could keep access for ever.
 *
 * @param text the wanted instant; null or undefined: the new token expires together with the creating one
 * @param maker when the creating token expires, epoch ms; null: never
 * @param now epoch ms
 * @throws Problem when the instant is not in the future, or is later than the expiry of the creating token
 */
function expiryOf(text: string | null | undefined, maker: number | null, now: number): number | null {
  if (text === null || text === undefined) return maker;
  const at = Date.parse(text);
  const wrong =
    at <= now
      ? 'must be in the future'
      : maker !== null && at > maker
        ? `must not be after ${instantText(maker)}, when the token of this request expires`
        : null;
  if (wrong === null) return at;
  throw invalid([{ path: ['expires_at'], message: wrong }]);
}

function tokenViewOf(tokens: Tokens, token: Token): z.infer<typeof tokenView> {
  const { createdBy } = token;
  return {
    id: String(token.id),
    name: token.name,
    scope: token.scope,
    operator: token.isOperator,
    created_at: instantText(token.createdAt),
    created_by: createdBy === null ? null : { id: String(createdBy.id), name: createdBy.name },
    expires_at: instantTextOrNull(token.expiresAt),
    last_used_at: instantTextOrNull(tokens.lastUsedAt(token.id)),
  };
}

/** Time for which a login link is valid, ms. */
const LINK_LIFE_MS = 15 * 60_000;
/**
 * Maximum rate of new login links per token: ten at once, and ten a
 * minute. Each link adds a row and an audit line to the database.
 */
const LINK_RATE = { perSecond: 10 / 60, atOnce: 10 };

const loginLinkView = z
  .object({
    url: z.url().meta({ description: 'Address of the dashboard. It works once.' }),
    expires_at: z.iso.datetime(),
  })
  .meta({
    examples: [
      {
        url: 'https://svc.example.com/login?link=0FZ3p0nVYQ0xSgGFhI9mYjB4S0rX5mXo1fM0m5mCz7E',
        expires_at: '2026-11-22T14:18:00.000Z',
      },
    ],
  });

/** Makes the purpose of a login link for the dashboard, which {@link OneTimeLinks} stores. */
function loginPurpose(tokenId: number): string {
  return `login:${tokenId}`;
}

/** Returns the id of the token whose session a link opens; null: the link has another purpose. */
export function tokenOfPurpose(purpose: string): number | null {
  const id = /^login:(\d+)$/.exec(purpose)?.[1];
  return id === undefined ? null : Number(id);
}

const createLoginLink = endpoint({
  method: 'POST',
  path: '/v1/login-links',
  access: 'read',
  tag: 'Tokens',
  summary: 'Create a link that logs a browser in to the dashboard',
  description:
    'The session can do what the token of this request can, and ends with it. The link works once, within 15 minutes. A token may make ten a minute.',
  answers: { 201: { description: 'Created. Only this answer has the link.', schema: loginLinkView } },
});

export function loginLinkEndpoints({
  store,
  clock,
  publicUrl,
}: Pick<ApiParts, 'store' | 'clock' | 'publicUrl'>): ServedEndpoint[] {
  const links = new OneTimeLinks({ store, clock });
  const limit = new RateLimit<number>(LINK_RATE);
  return [
    serve(createLoginLink, async ({ token, audit }) => {
      if (token === null) throw new TypeError('the endpoint has a token');
      const seconds = limit.countUse(token.id, clock.monotonic());
      if (seconds > 0) throw tooMany('this token made too many login links', seconds);
      // A visitor who opens the link acts with the rights of the token. So the creation
      // of the link gets an audit line, in addition to the line about the login.
      const secret = await links.createLink(loginPurpose(token.id), {
        detail: tokenVersion(token),
        lifeMs: LINK_LIFE_MS,
        also: (tx) => audit.writeLine(tx),
      });
      const body: z.infer<typeof loginLinkView> = {
        url: `${publicUrl.replace(/\/$/, '')}/login?link=${secret}`,
        expires_at: instantText(clock.wall() + LINK_LIFE_MS),
      };
      return { status: 201, body };
    }),
  ];
}

const newWorkspace = z
  .strictObject({
    name: nameSchema('Unique.'),
  })
  .meta({ examples: [{ name: 'Shops' }] });

const allWorkspaces = endpoint({
  method: 'GET',
  path: '/v1/workspaces',
  access: 'admin',
  tag: 'Workspaces',
  summary: "List the workspaces. Tokens other than the operator's see their own workspace only",
  query: offsetPage.extend({ name: nameFilter('name') }),
  answers: { 200: { description: 'A page of the list.', schema: listOf(workspaceView) } },
});

const createWorkspace = endpoint({
  method: 'POST',
  path: '/v1/workspaces',
  access: 'operator',
  tag: 'Workspaces',
  summary: 'Create a workspace. POST /v1/tokens with its id makes its tokens',
  body: newWorkspace,
  headers: ['Idempotency-Key'],
  answers: {
    201: {
      description: 'Created, now or by an earlier request with the same Idempotency-Key.',
      schema: workspaceView,
      headers: ['Idempotency-Replayed'],
    },
  },
  problems: ['conflict'],
});

export function workspaceEndpoints({
  store,
  clock,
  secrets,
}: Pick<ApiParts, 'store' | 'clock' | 'secrets'>): ServedEndpoint[] {
  return [
    serve(allWorkspaces, async (request) => {
      const { limit, offset, name } = request.query;
      const only = request.token?.isOperator === true ? null : workspaceOf(request);
      const { rows, total } = await listWorkspaces(store, { limit, offset }, { nameContains: name, only });
      return ok({ data: rows.map(workspaceViewOf), total, limit, offset });
    }),
    serve(createWorkspace, async (request) => {
      const { body } = request;
      const once = createsOnce(request, { path: '/v1/workspaces', body }, { clock, secrets });
      const { row, isNew } = await store.transaction(async (tx) => {
        const { id, isNew } = await once(tx, () => createNamed(tx, body.name, clock.wall()));
        return { row: await findWorkspace(tx, id), isNew };
      });
      if (row === null)
        throw new Problem(
          'conflict',
          'the workspace that the first request with this Idempotency-Key created does not exist any more',
        );
      const headers: Record<string, string> = isNew ? {} : { 'idempotency-replayed': 'true' };
      return { status: 201, body: workspaceViewOf(row), headers };
    }),
  ];
}

/**
 * Creates a workspace with this name, and returns its id.
 *
 * @param now epoch ms
 * @throws Problem when the name is taken
 */
async function createNamed(tx: Transaction, name: string, now: number): Promise<number> {
  const id = await insertWorkspace(tx, name, now);
  if (id === null) throw nameTaken();
  return id;
}

function nameTaken(): Problem {
  const message = 'is the name of another workspace';
  return new Problem('conflict', 'another workspace has this name', {
    errors: [{ pointer: '/name', message }],
  });
}

function workspaceViewOf(row: Workspace): z.infer<typeof workspaceView> {
  return { id: String(row.id), name: row.name, created_at: instantText(row.created_at) };
}
