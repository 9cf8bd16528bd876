import { z } from 'zod';
import { workspaceView } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type Endpoint, endpoint, ok } from '../endpoint.ts';
import { listOf, offsetPage } from '../paging.ts';
import { Problem } from '../problem.ts';

const newWorkspace = z.strictObject({
  name: z
    .string('must be a text')
    .trim()
    .min(1, 'must not be empty')
    .max(256, 'may have at most 256 characters')
    .meta({ description: 'Unique.' }),
});

export function workspaceEndpoints({ store, clock }: Pick<ApiDependencies, 'store' | 'clock'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/workspaces',
      access: 'operator',
      tag: 'Workspaces',
      summary: 'List the workspaces',
      query: offsetPage,
      answers: { 200: { description: 'A page of the list.', schema: listOf(workspaceView) } },
      async handle(request) {
        const { limit, offset } = request.query;
        const all = store.read.selectFrom('workspaces');
        const [rows, { total }] = await Promise.all([
          all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
          all.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
        ]);
        return ok({ data: rows.map(viewOf), total, limit, offset });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/workspaces',
      access: 'operator',
      tag: 'Workspaces',
      summary: 'Create a workspace; its tokens are made with POST /v1/tokens and its id',
      body: newWorkspace,
      answers: { 201: { description: 'Created.', schema: workspaceView } },
      async handle(request) {
        const row = { name: request.body.name, created_at: clock.wall() };
        // Transactions do not interleave: nobody can take the name in between.
        const id = await store.transaction(async ({ db }) => {
          const taken = await db
            .selectFrom('workspaces')
            .select('id')
            .where('name', '=', row.name)
            .executeTakeFirst();
          if (taken !== undefined) throw nameTaken();
          const { insertId } = await db.insertInto('workspaces').values(row).executeTakeFirstOrThrow();
          return Number(insertId);
        });
        return { status: 201, body: viewOf({ id, ...row }) };
      },
    }),
  ];
}

function nameTaken(): Problem {
  const message = 'is the name of another workspace';
  return new Problem('conflict', 'there is a workspace of this name', {
    errors: [{ pointer: '/name', message }],
  });
}

function viewOf(row: { id: number; name: string; created_at: number }): z.infer<typeof workspaceView> {
  return { id: String(row.id), name: row.name, created_at: new Date(row.created_at).toISOString() };
}
