import { z } from 'zod';
import type { Token } from '../../store/tokens.ts';
import { createdTokenView, tokenView } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type ApiRequest, type Endpoint, endpoint, idOf, NO_CONTENT, ok, workspaceOf } from '../endpoint.ts';
import { listOf, offsetPage } from '../paging.ts';
import { invalid, Problem } from '../problem.ts';

const newToken = z.strictObject({
  name: z
    .string('must be a text')
    .trim()
    .min(1, 'must not be empty')
    .max(256, 'may have at most 256 characters')
    .meta({ description: 'What it is for.' }),
  scope: z.enum(['read', 'write'], 'must be read or write'),
  workspace_id: z
    .string('must be a text')
    .regex(/^[1-9]\d{0,14}$/, 'must be the id of a workspace')
    .nullish()
    .meta({ description: "Another workspace than the caller's; operator's token only." }),
});

export function tokenEndpoints({
  store,
  tokens,
  clock,
}: Pick<ApiDependencies, 'store' | 'tokens' | 'clock'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/tokens',
      access: 'write',
      tag: 'Tokens',
      summary: 'List the API tokens of the workspace',
      query: offsetPage,
      answers: { 200: { description: 'A page of the list.', schema: listOf(tokenView) } },
      handle(request) {
        const { limit, offset } = request.query;
        const all = tokens.list(workspaceOf(request));
        return ok({ data: all.slice(offset, offset + limit).map(viewOf), total: all.length, limit, offset });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/tokens',
      access: 'write',
      tag: 'Tokens',
      summary: 'Create an API token; it is shown once',
      body: newToken,
      answers: { 201: { description: 'Created.', schema: createdTokenView } },
      async handle(request) {
        const { name, scope } = request.body;
        const workspaceId = await grantedWorkspace(store, request);
        const grant = { workspaceId, name, scope };
        const { token, secret } = await tokens.create(grant, clock.wall());
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

/** @throws Problem when the workspace is not there, or not the caller's to give tokens for. */
async function grantedWorkspace(
  store: ApiDependencies['store'],
  { token, body }: ApiRequest<unknown, z.infer<typeof newToken>>,
): Promise<number> {
  const own = workspaceOf({ token });
  const asked = Number(body.workspace_id ?? own);
  if (asked === own) return own;
  const found =
    token?.isOperator === true
      ? await store.read.selectFrom('workspaces').select('id').where('id', '=', asked).executeTakeFirst()
      : undefined;
  if (found !== undefined) return found.id;
  throw invalid([{ path: ['workspace_id'], message: `there is no workspace ${asked}` }]);
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
