import { SICKNESSES } from '@svc/shared/messages/heartbeat.ts';
import { isFixedRegion, type Region, regionsWith } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { lastingAbsences, regionsLastSeen } from '../../store/results/region-absences.ts';
import { storedRegionNumbers } from '../../store/results/region-numbers.ts';
import type { Store } from '../../store/store.ts';
import { type RegionView, regionView } from '../answers.ts';
import { type ApiParts, isLedElsewhere, type LiveAgent } from '../api-parts.ts';
import { endpoint, ok, type ServedEndpoint, serve } from '../endpoint.ts';
import { Problem } from '../problem.ts';

const regionsView = z
  .object({ data: z.array(regionView) })
  .meta({ examples: [{ data: regionView.meta()?.examples }] });

export const listRegions = endpoint({
  method: 'GET',
  path: '/v1/regions',
  access: 'read',
  tag: 'Regions',
  summary: 'List all regions with their live agents',
  answers: {
    200: { description: 'The 28 regions, then those of `SVC_EXTRA_REGIONS`.', schema: regionsView },
  },
});

export function regionEndpoints({
  store,
  agents,
  shards,
  ownRegions,
}: Pick<ApiParts, 'store' | 'agents' | 'shards' | 'ownRegions'>): ServedEndpoint[] {
  return [
    serve(listRegions, async () => {
      const [lastSeenAt, absences, led] = await Promise.all([
        regionsLastSeen(store),
        lastingAbsences(store),
        shards(),
      ]);
      // A coordinator that leads any shard hears all agents itself.
      const isHeardElsewhere = isLedElsewhere(led) && !led.some(({ isHere }) => isHere);
      const live = new Set(agents.liveRegions());
      const names = new Map(ownRegions.map(({ id, name }) => [id, name]));
      const data = regionsWith(ownRegions).map((region): RegionView => {
        const alive = [...agents.agentsOf(region)].map(agentView);
        const seen = alive.map(({ last_seen_at }) => last_seen_at);
        const lastSeen = Math.max(...seen, lastSeenAt.get(region) ?? 0) || null;
        return {
          region,
          name: names.get(region) ?? null,
          last_seen_at: lastSeen,
          // An absence that is not stored yet will be stored with `lastSeen` as its beginning.
          // If only other coordinators hear the agents, they have stored all absences that
          // they know. So an absence that is not stored is null then.
          absent_since: live.has(region)
            ? null
            : (absences.get(region) ?? (isHeardElsewhere ? null : lastSeen)),
          sick: SICKNESSES.filter((each) => alive.some(({ sick }) => sick.includes(each))),
          agents: alive,
        };
      });
      return ok({ data });
    }),
  ];
}

/**
 * Checks the region of a query. A region of one's own that was taken away is known too, because its results stay.
 *
 * @throws Problem `malformed-request` when no coordinator of the installation has ever had the region
 */
export async function requireKnownRegion(store: Pick<Store, 'read'>, region: Region | null): Promise<void> {
  if (region === null || isFixedRegion(region)) return;
  if ((await storedRegionNumbers(store)).numberIn(region) !== null) return;
  throw new Problem('malformed-request', 'the query is not valid', {
    errors: [{ pointer: '', parameter: 'region', message: 'is not a region' }],
  });
}

function agentView(agent: LiveAgent): RegionView['agents'][number] {
  return {
    id: agent.id,
    version: agent.version,
    capacity: agent.capacity,
    running: agent.running,
    load: Math.round((agent.running / Math.max(1, agent.capacity)) * 1_000) / 1_000,
    loop_delay_ms: agent.loopDelayMs,
    last_seen_at: agent.lastSeenWall,
    draining: agent.isDraining,
    machine: agent.machine === '' ? null : agent.machine,
    sick: [...agent.sicknesses],
  };
}
