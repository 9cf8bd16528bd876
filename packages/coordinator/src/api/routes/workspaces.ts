import { z } from 'zod';
import {
  findWorkspace,
  insertWorkspace,
  listWorkspaces,
  type Workspace,
} from '../../store/declaration/workspaces.ts';
import type { Transaction } from '../../store/store.ts';
import { workspaceView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { nameSchema } from '../body-members.ts';
import { endpoint, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { createsOnce } from '../idempotency.ts';
import { listOf, nameFilter, offsetPage } from '../lists.ts';

import { Problem } from '../problem.ts';

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
      return ok({ data: rows.map(viewOf), total, limit, offset });
    }),
    serve(createWorkspace, async (request) => {
      const { body } = request;
      const once = createsOnce(request, { path: '/v1/workspaces', body }, { clock, secrets });
      const { row, isNew } = await store.transaction(async (tx) => {
        const { id, isNew } = await once(tx, () => create(tx, body.name, clock.wall()));
        return { row: await findWorkspace(tx, id), isNew };
      });
      if (row === null)
        throw new Problem(
          'conflict',
          'the workspace that the first request with this Idempotency-Key created does not exist any more',
        );
      const headers: Record<string, string> = isNew ? {} : { 'idempotency-replayed': 'true' };
      return { status: 201, body: viewOf(row), headers };
    }),
  ];
}

/** @throws Problem when the name is taken */
async function create(tx: Transaction, name: string, now: number): Promise<number> {
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

function viewOf(row: Workspace): z.infer<typeof workspaceView> {
  return { id: String(row.id), name: row.name, created_at: new Date(row.created_at).toISOString() };
}
