import type { Selectable } from 'kysely';
import { z } from 'zod';
import { transitionVotes } from '../../results/stored-votes.ts';
import type { Database } from '../../store/schema.ts';
import { type TransitionView, transitionView } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type Endpoint, endpoint, idOf, ok, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../paging.ts';
import { requireMonitor } from './results.ts';

const cursorKeys = z.tuple([z.number().int()]);

export function transitionEndpoints({ store }: Pick<ApiDependencies, 'store'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/monitors/{id}/transitions',
      access: 'read',
      tag: 'Monitors',
      summary: "Changes of a monitor's status with the votes that made them, newest first",
      query: cursorPage,
      answers: { 200: { description: 'A page of transitions.', schema: historyOf(transitionView) } },
      async handle(request) {
        const { limit, cursor } = request.query;
        const { id: monitorId } = await requireMonitor(store, workspaceOf(request), idOf(request));
        const after = decodeCursor(cursor, cursorKeys);
        const rows = await store.read
          .selectFrom('transitions')
          .selectAll()
          .where('monitor_id', '=', monitorId)
          .$if(after !== null, (from) => from.where('id', '<', after?.[0] ?? 0))
          .orderBy('id', 'desc')
          .limit(limit + 1)
          .execute();
        return ok(historyPage(rows, limit, viewOf, (row) => [row.id]));
      },
    }),
  ];
}

function viewOf(row: Selectable<Database['transitions']>): TransitionView {
  return {
    id: String(row.id),
    from: row.from_status as TransitionView['from'],
    to: row.to_status as TransitionView['to'],
    reason: row.reason,
    at: row.at,
    slot: row.slot,
    incident: row.incident,
    votes: transitionVotes.parse(JSON.parse(row.votes)),
  };
}
