import { OUTCOMES } from '@svc/shared/messages/check-result.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { slotsWithOutcome } from '../../history/slots-with-outcome.ts';
import { monitorCreatedAt } from '../../store/declaration/monitors.ts';
import { newestResults, type ResultRow } from '../../store/results/newest-results.ts';
import { readResultDetail } from '../../store/results/result-detail.ts';
import { transitionVotes } from '../../store/states/stored-votes.ts';
import { newestTransitions, type TransitionRow } from '../../store/states/transition-history.ts';
import { type ResultView, resultView, type TransitionView, transitionView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage, instantIn } from '../lists.ts';
import { Problem } from '../problem.ts';

/**
 * How long before the monitor's creation results are looked for, ms: it may have been declared under a wrong
 * clock.
 */
const CLOCK_ERROR_MS = 24 * 3_600_000;

const cursorKeys = z.tuple([z.number().int(), z.string()]);

export const monitorResults = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/results',
  access: 'read',
  tag: 'Monitors',
  summary: 'List the results of a monitor, newest first',
  query: cursorPage.extend({
    region: z
      .enum(REGIONS, 'is not a region')
      .optional()
      .meta({ description: 'Only results of this region.' }),
    outcome: z
      .enum(OUTCOMES, 'must be passed, degraded, failed or not_run')
      .optional()
      .meta({ description: 'Only results with this outcome.' }),
    from: instantIn('Only results of slots at or after this instant, epoch ms.'),
    until: instantIn('Only results of slots before this instant, epoch ms.'),
  }),
  answers: { 200: { description: 'A page of results.', schema: historyOf(resultView) } },
});

export function resultEndpoints({ store, slotNow }: Pick<ApiParts, 'store' | 'slotNow'>): ServedEndpoint[] {
  return [
    serve(monitorResults, async (request) => {
      const { limit, cursor, region = null, outcome = null, from = 0, until = null } = request.query;
      const { id: monitorId, createdAt } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const after = decodeCursor(cursor, cursorKeys);
      const rows = await newestResults(store, {
        monitorId,
        since: Math.max(createdAt - CLOCK_ERROR_MS, from),
        before: until,
        region,
        outcome,
        ...(outcome === null
          ? {}
          : { mayHave: await slotsWithOutcome(store, { monitorId, region, outcome }, slotNow()) }),
        after: after === null ? null : { slot: after[0], region: after[1] },
        limit: limit + 1,
      });
      return ok(historyPage(rows, limit, viewOf, (row) => [row.slot, row.region]));
    }),
  ];
}

/**
 * Finds the monitor. `createdAt` is epoch ms. @throws Problem when it does not exist or belongs to another
 * workspace
 */
export async function requireMonitor(
  store: ApiParts['store'],
  workspaceId: number,
  id: number,
): Promise<{ id: number; createdAt: number }> {
  const createdAt = await monitorCreatedAt(store, workspaceId, id);
  if (createdAt === null) throw new Problem('not-found', `there is no monitor ${id}`);
  return { id, createdAt };
}

function viewOf(row: ResultRow): ResultView {
  const more = readResultDetail(row.detail, row);
  return {
    region: row.region as ResultView['region'],
    cron_timestamp: row.slot,
    outcome: row.outcome,
    reason: more.reason ?? null,
    latency: row.latency,
    phases: more.phases ?? null,
    status_code: row.status_code,
    error_message: row.error_message,
    attempts: more.attempts,
    certificate_expires_at: more.certificate_expires_at ?? null,
    body_truncated: more.body_truncated ?? false,
    agent_id: row.agent,
    recorded_at: row.recorded_at,
  };
}

const transitionKeys = z.tuple([z.number().int()]);

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
      const beforeId = decodeCursor(cursor, transitionKeys)?.[0] ?? null;
      const rows = await newestTransitions(store, { monitorId, beforeId, limit: limit + 1 });
      return ok(historyPage(rows, limit, transitionViewOf, (row) => [row.id]));
    }),
  ];
}

function transitionViewOf(row: TransitionRow): TransitionView {
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
