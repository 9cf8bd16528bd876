import { attempt, NOT_RUN_REASONS, type OUTCOMES, phases } from '@svc/shared/messages/check-result.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Row } from '../../configuration/rows.ts';
import type { Database } from '../../store/schema.ts';
import { type ResultView, resultView } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type Endpoint, endpoint, idOf, ok, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../paging.ts';
import { Problem } from '../problem.ts';

const cursorKeys = z.tuple([z.number().int(), z.string()]);

/** What `results.detail` holds; members that a later version adds are ignored. */
const detail = z.object({
  reason: z.enum(NOT_RUN_REASONS).optional(),
  phases: phases.optional(),
  attempts: z.array(attempt).optional(),
  certificate_expires_at: z.number().int().optional(),
  body_truncated: z.boolean().optional(),
});

export function resultEndpoints({ store }: Pick<ApiDependencies, 'store'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/monitors/{id}/results',
      access: 'read',
      tag: 'Monitors',
      summary: 'Results of a monitor, newest first',
      query: cursorPage.extend({
        region: z
          .enum(REGIONS, 'is no region')
          .optional()
          .meta({ description: 'Only those of this region.' }),
      }),
      answers: { 200: { description: 'A page of results.', schema: historyOf(resultView) } },
      async handle(request) {
        const { limit, cursor, region } = request.query;
        const monitorId = await requireMonitor(store, workspaceOf(request), idOf(request));
        const after = decodeCursor(cursor, cursorKeys);
        const rows = await store.read
          .selectFrom('results')
          .selectAll()
          .where('monitor_id', '=', monitorId)
          .$if(region !== undefined, (from) => from.where('region', '=', region ?? ''))
          .$if(after !== null, (from) =>
            from.where(sql<boolean>`(slot, region) < (${after?.[0]}, ${after?.[1]})`),
          )
          .orderBy('slot', 'desc')
          .orderBy('region', 'desc')
          .limit(limit + 1)
          .execute();
        return ok(historyPage(rows, limit, viewOf, (row) => [row.slot, row.region]));
      },
    }),
  ];
}

/** @throws Problem when it is not there, or another workspace's. */
export async function requireMonitor(
  store: ApiDependencies['store'],
  workspaceId: number,
  id: number,
): Promise<Row<'monitors'>['id']> {
  const row = await store.read
    .selectFrom('monitors')
    .select('id')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  if (row === undefined) throw new Problem('not-found', `there is no monitor ${id}`);
  return row.id;
}

function viewOf(row: Selectable<Database['results']>): ResultView {
  const more = detail.parse(row.detail === null ? {} : JSON.parse(row.detail));
  return {
    region: row.region as ResultView['region'],
    cron_timestamp: row.slot,
    outcome: row.outcome satisfies (typeof OUTCOMES)[number],
    reason: more.reason ?? null,
    latency: row.latency,
    phases: more.phases ?? null,
    status_code: row.status_code,
    error_message: row.error_message,
    attempts: more.attempts ?? [],
    certificate_expires_at: more.certificate_expires_at ?? null,
    body_truncated: more.body_truncated ?? false,
    agent_id: row.agent,
    recorded_at: row.recorded_at,
  };
}
