import { MONITOR_KINDS } from '@svc/shared/resources/registry.ts';
import { z } from 'zod';
import type { StoredMonitor } from '../../configuration/stored.ts';
import { type Collection, collectionEndpoints } from '../collection.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Endpoint } from '../endpoint.ts';
import { invalid } from '../problem.ts';
import { monitorView } from '../views.ts';

const TYPES = Object.keys(MONITOR_KINDS) as [keyof typeof MONITOR_KINDS, ...(keyof typeof MONITOR_KINDS)[]];

const filters = {
  name: z
    .string()
    .max(256)
    .optional()
    .meta({ description: 'Only those whose name contains this text (case does not matter).' }),
  type: z
    .enum(TYPES, 'must be http, tcp or dns')
    .optional()
    .meta({ description: 'Only those of this type.' }),
};
const filter = z.object(filters);

export function monitorEndpoints(dependencies: ApiDependencies): Endpoint[] {
  const { reading, states, slotNow } = dependencies;
  const collection: Collection<StoredMonitor> = {
    path: '/v1/monitors',
    tag: 'Monitors',
    noun: 'monitor',
    kinds: Object.values(MONITOR_KINDS),
    filters,
    kindFor(body) {
      const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
      const known = TYPES.find((candidate) => candidate === type);
      if (known !== undefined) return MONITOR_KINDS[known];
      const message = type === undefined ? 'is required: http, tcp or dns' : 'must be http, tcp or dns';
      throw invalid([{ path: ['type'], message }]);
    },
    find: ({ workspaceId }, id, shown) => reading.monitor(workspaceId, id, shown),
    page({ workspaceId }, query, shown) {
      const { name, type } = filter.parse(query);
      return reading.monitors(workspaceId, query, shown, {
        ...(name === undefined ? {} : { nameContains: name }),
        ...(type === undefined ? {} : { type }),
      });
    },
    present(stored) {
      const now = slotNow();
      return stored.map((monitor) => monitorView(monitor, states, now));
    },
  };
  return collectionEndpoints(collection, dependencies);
}
