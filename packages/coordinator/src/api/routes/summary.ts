import { z } from 'zod';
import { readSummary } from '../../rollups/summary.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { RANGE_NAMES, summaryAnswer, summaryView } from '../summary-answer.ts';
import { requireMonitor } from './results.ts';

const monitorSummary = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/summary',
  access: 'read',
  tag: 'Monitors',
  summary: 'Summarize uptime, latencies and outcomes of a monitor, as a whole and per region',
  description:
    'The buckets are the hours of the last day or week, or the days (UTC) of the last 30, 90 or 400 days. The bucket in progress is one of them. Hours are kept for 14 days, days for 400. A result that comes hours late is counted within seconds.',
  query: z.object({
    range: z
      .enum(RANGE_NAMES, `must be ${RANGE_NAMES.slice(0, -1).join(', ')} or ${RANGE_NAMES.at(-1)}`)
      .default('24h')
      .meta({ description: 'How far the summary reaches back.' }),
  }),
  answers: { 200: { description: 'The summary.', schema: summaryView } },
});

export function summaryEndpoints({ store, slotNow }: Pick<ApiParts, 'store' | 'slotNow'>): ServedEndpoint[] {
  return [
    serve(monitorSummary, async (request) => {
      const { range } = request.query;
      const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
      return ok(summaryAnswer(range, await readSummary(store, id, range, Math.floor(slotNow()))));
    }),
  ];
}
