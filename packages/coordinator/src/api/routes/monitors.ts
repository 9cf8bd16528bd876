import { MONITOR_KINDS } from '@svc/shared/resources/registry.ts';
import type { StoredMonitor } from '../../configuration/stored.ts';
import { failingChannels } from '../../store/links.ts';
import { type Collection, collectionEndpoints } from '../collection.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Endpoint } from '../endpoint.ts';
import { typeFilter } from '../filters.ts';
import { invalid } from '../problem.ts';
import { monitorView } from '../views.ts';

const TYPES = Object.keys(MONITOR_KINDS) as [keyof typeof MONITOR_KINDS, ...(keyof typeof MONITOR_KINDS)[]];

/** Most failing channels that a monitor's warnings name; the others are counted. */
const MOST_NAMED = 10;

export function monitorEndpoints(dependencies: ApiDependencies): Endpoint[] {
  const { reading, store, states, slotNow } = dependencies;
  const collection: Collection<StoredMonitor> = {
    path: '/v1/monitors',
    tag: 'Monitors',
    noun: 'monitor',
    kinds: Object.values(MONITOR_KINDS),
    named: 'name',
    type: typeFilter(TYPES),
    removal:
      'The monitor leaves the channels that it was linked to. While components of status pages show the monitor, the removal is refused (409), unless `cascade` removes them too or `components=keep` leaves them in place. Their `monitor_id` is null then, and pages leave them out.',
    isShown: true,
    kindFor(body) {
      const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
      const known = TYPES.find((candidate) => candidate === type);
      if (known !== undefined) return MONITOR_KINDS[known];
      const message = type === undefined ? 'is required: http, tcp or dns' : 'must be http, tcp or dns';
      throw invalid([{ path: ['type'], message }]);
    },
    find: ({ workspaceId }, id, shown) => reading.monitor(workspaceId, id, shown),
    page: ({ workspaceId }, page, shown, filter) => reading.monitors(workspaceId, page, shown, filter),
    async present(stored) {
      const ids = stored.map(({ id }) => id);
      const failing = await failingChannels(store, ids, MOST_NAMED);
      const surroundings = { states, failing, now: slotNow() };
      return stored.map((monitor) => monitorView(monitor, surroundings));
    },
  };
  return collectionEndpoints(collection, dependencies);
}
