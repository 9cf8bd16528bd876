import { z } from 'zod';
import type { Token, Tokens } from '../../store/tokens.ts';
import { findWorkspace } from '../../store/workspaces.ts';
import { createdTokenView, tokenView } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type ApiRequest, type Endpoint, endpoint, idOf, NO_CONTENT, ok, workspaceOf } from '../endpoint.ts';
import { nameFilter } from '../filters.ts';
import { idempotencyKey, makeOnce } from '../idempotency.ts';
import { nameSchema } from '../names.ts';
import { listOf, offsetPage } from '../paging.ts';
import { Problem, referenceNotFound } from '../problem.ts';

const SCOPES = ['read', 'write'] as const;

const newToken = z
  .strictObject({
    name: nameSchema('What it is for.'),
    scope: z.enum(SCOPES, 'must be read or write'),
    workspace_id: z
      .string('must be a text')
      .regex(/^[1-9]\d{0,14}$/, 'must be the id of a workspace')
      .nullish()
      .meta({ description: "Another workspace than the caller's; operator's token only." }),
  })
  .meta({ examples: [{ name: 'Terraform', scope: 'write' }] });

export function tokenEndpoints({
  store,
  tokens,
  clock,
  secrets,
}: Pick<ApiDependencies, 'store' | 'tokens' | 'clock' | 'secrets'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/tokens',
      access: 'write',
      tag: 'Tokens',
      summary: 'List the API tokens of the workspace',
      query: offsetPage.extend({
        name: nameFilter('name'),
        scope: z
          .enum(SCOPES, 'must be read or write')
          .optional()
          .meta({ description: 'Only those of this scope.' }),
      }),
      answers: { 200: { description: 'A page of the list.', schema: listOf(tokenView) } },
      handle(request) {
        const { limit, offset, name = '', scope } = request.query;
        const all = tokens
          .list(workspaceOf(request))
          .filter((token) => token.name.toLowerCase().includes(name.toLowerCase()))
          .filter((token) => scope === undefined || token.scope === scope);
        return ok({ data: all.slice(offset, offset + limit).map(viewOf), total: all.length, limit, offset });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/tokens',
      access: 'write',
      tag: 'Tokens',
      summary: 'Create an API token; it is shown once',
      description:
        'Only a hash of the token is kept, so a request that is repeated with its Idempotency-Key makes no second token but cannot show the first again: it is refused (409) with the id of the token, which can be revoked.',
      body: newToken,
      headers: ['Idempotency-Key'],
      answers: { 201: { description: 'Created.', schema: createdTokenView } },
      problems: ['conflict', 'reference-not-found'],
      async handle(request) {
        const { body } = request;
        const workspaceId = await grantedWorkspace(store, request);
        const grant = { workspaceId, name: body.name, scope: body.scope };
        const key = idempotencyKey(request.header('idempotency-key'));
        const now = clock.wall();
        const { token, secret } = await store.transaction(async (tx) => {
          if (key === null) return tokens.createIn(tx, grant, now);
          let made: Awaited<ReturnType<Tokens['createIn']>> | null = null;
          const idempotent = { workspaceId: workspaceOf(request), key, path: '/v1/tokens', body };
          const { id } = await makeOnce({ tx, secrets, now }, idempotent, async () => {
            made = await tokens.createIn(tx, grant, now);
            return made.token.id;
          });
          return made ?? shownBefore(id);
        });
        return { status: 201, body: { ...viewOf(token), token: secret } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/v1/tokens/{id}',
      access: 'write',
      tag: 'Tokens',
      summary: 'Revoke an API token',
      answers: { 204: { description: 'Revoked.' } },
      problems: ['conflict'],
      async handle(request) {
        const id = idOf(request);
        const outcome = await tokens.revoke(workspaceOf(request), id, clock.wall());
        if (outcome === 'unknown') throw new Problem('not-found', `there is no token ${id}`);
        if (outcome === 'operator') {
          throw new Problem(
            'conflict',
            "the operator's token cannot be revoked: change SVC_API_TOKEN and restart",
          );
        }
        return NO_CONTENT;
      },
    }),
  ];
}

function shownBefore(id: number): never {
  throw new Problem(
    'conflict',
    `this Idempotency-Key made token ${id}, which was shown then and cannot be shown again: revoke it, and repeat with another key`,
  );
}

/** @throws Problem when the workspace is not there, or not the caller's to give tokens for. */
async function grantedWorkspace(
  store: ApiDependencies['store'],
  { token, body }: ApiRequest<unknown, z.infer<typeof newToken>>,
): Promise<number> {
  const own = workspaceOf({ token });
  const asked = Number(body.workspace_id ?? own);
  if (asked === own) return own;
  if (token?.isOperator === true && (await findWorkspace(store, asked)) !== null) return asked;
  throw referenceNotFound(['workspace_id'], `there is no workspace ${asked}`);
}

function viewOf(token: Token): z.infer<typeof tokenView> {
  return {
    id: String(token.id),
    name: token.name,
    scope: token.scope,
    operator: token.isOperator,
    created_at: new Date(token.createdAt).toISOString(),
  };
}
