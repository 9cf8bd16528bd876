import { FINEST_PERIOD_MS } from '../../domain/schedule.ts';
import { readPhases } from '../../rollups/phases.ts';
import { readSeries } from '../../rollups/series.ts';
import { readUptimes } from '../../rollups/status-times.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { phasesAnswer, phasesView, seriesAnswer, seriesQuery, seriesView } from '../series-answer.ts';
import { uptimeAnswer, uptimeView } from '../uptime-answer.ts';
import { requireMonitor } from './results.ts';

type Parts = Pick<ApiParts, 'store' | 'slotNow' | 'monitors' | 'agents'>;

export const monitorSeries = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/series',
  access: 'read',
  tag: 'Monitors',
  summary: 'Read the latencies of a monitor as a series, of all regions or of one',
  description:
    'The buckets are minutes, five minutes or half hours of the last 1, 6 or 24 hours, hours of the last 7 or 14 days, or days (UTC) of the last 90. A monitor with a longer period has wider buckets.',
  query: seriesQuery,
  answers: { 200: { description: 'The series.', schema: seriesView } },
});

export const monitorPhases = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/phases',
  access: 'read',
  tag: 'Monitors',
  summary: 'Read how the time of checks is spent, as a series',
  description:
    'The means of the phases of results that passed or were degraded. They come from stored results, so they reach back as far as results are kept. Many results are read as an even sample.',
  query: seriesQuery,
  answers: { 200: { description: 'The series.', schema: phasesView } },
});

export const monitorUptime = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/uptime',
  access: 'read',
  tag: 'Monitors',
  summary: 'Read the uptime of a monitor over the usual ranges and on each of the last 90 days',
  answers: { 200: { description: 'The uptimes.', schema: uptimeView } },
});

/** What charts of a monitor are drawn from. */
export function seriesEndpoints({ store, slotNow, monitors, agents }: Parts): ServedEndpoint[] {
  return [
    serve(monitorSeries, async (request) => {
      const { range, region = null } = request.query;
      const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const now = Math.floor(slotNow());
      const periodMs = monitors.get(id)?.periodMs ?? FINEST_PERIOD_MS;
      return ok(
        seriesAnswer({ range, region, now }, await readSeries(store, id, { range, region, periodMs }, now)),
      );
    }),
    serve(monitorPhases, async (request) => {
      const { range, region = null } = request.query;
      const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const now = Math.floor(slotNow());
      const monitor = monitors.get(id);
      const regionCount = (monitor?.regions ?? agents.live()).length;
      const periodMs = monitor?.periodMs ?? FINEST_PERIOD_MS;
      const phases = await readPhases(store, id, { range, region, regionCount, periodMs }, now);
      return ok(phasesAnswer({ range, region, now }, phases));
    }),
    serve(monitorUptime, async (request) => {
      const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const now = Math.floor(slotNow());
      return ok(uptimeAnswer(await readUptimes(store, id, now), now));
    }),
  ];
}
