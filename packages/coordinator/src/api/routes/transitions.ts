import { z } from 'zod';
import { transitionVotes } from '../../store/stored-votes.ts';
import { newestTransitions, type TransitionRow } from '../../store/transition-history.ts';
import { type TransitionView, transitionView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../paging.ts';
import { requireMonitor } from './results.ts';

const cursorKeys = z.tuple([z.number().int()]);

export const monitorTransitions = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/transitions',
  access: 'read',
  tag: 'Monitors',
  summary: 'List the changes of status of a monitor with the votes that made them, newest first',
  query: cursorPage,
  answers: { 200: { description: 'A page of transitions.', schema: historyOf(transitionView) } },
});

export function transitionEndpoints({ store }: Pick<ApiParts, 'store'>): ServedEndpoint[] {
  return [
    serve(monitorTransitions, async (request) => {
      const { limit, cursor } = request.query;
      const { id: monitorId } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const beforeId = decodeCursor(cursor, cursorKeys)?.[0] ?? null;
      const rows = await newestTransitions(store, { monitorId, beforeId, limit: limit + 1 });
      return ok(historyPage(rows, limit, viewOf, (row) => [row.id]));
    }),
  ];
}

function viewOf(row: TransitionRow): TransitionView {
  return {
    id: String(row.id),
    from: row.from_status as TransitionView['from'],
    to: row.to_status as TransitionView['to'],
    reason: row.reason,
    at: row.at,
    slot: row.slot,
    incident: row.incident,
    until: row.until,
    slots: row.slots,
    votes: transitionVotes.parse(JSON.parse(row.votes)),
  };
}
