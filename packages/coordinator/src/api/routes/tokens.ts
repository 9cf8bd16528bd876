import { z } from 'zod';
import type { Token } from '../../store/tokens.ts';
import { createdTokenView, tokenView } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type Endpoint, endpoint, idOf, NO_CONTENT, ok, workspaceOf } from '../endpoint.ts';
import { listOf, offsetPage } from '../paging.ts';
import { Problem } from '../problem.ts';

const newToken = z.strictObject({
  name: z
    .string('must be a text')
    .trim()
    .min(1, 'must not be empty')
    .max(256, 'may have at most 256 characters')
    .meta({ description: 'What it is for.' }),
  scope: z.enum(['read', 'write'], 'must be read or write'),
});

export function tokenEndpoints({ tokens, clock }: Pick<ApiDependencies, 'tokens' | 'clock'>): Endpoint[] {
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
        const grant = { workspaceId: workspaceOf(request), ...request.body };
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

function viewOf(token: Token): z.infer<typeof tokenView> {
  return {
    id: String(token.id),
    name: token.name,
    scope: token.scope,
    operator: token.isOperator,
    created_at: new Date(token.createdAt).toISOString(),
  };
}
