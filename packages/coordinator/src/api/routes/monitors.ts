import { MONITOR_KINDS } from '@svc/shared/resources/registry.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import { monitorKindOf, type Row } from '../../configuration/rows.ts';
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
  const { store, secrets, states, clock } = dependencies;
  const collection: Collection<Row<'monitors'>> = {
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
    kindOf: monitorKindOf,
    find: ({ workspaceId }, id) =>
      store.read
        .selectFrom('monitors')
        .selectAll()
        .where('id', '=', id)
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst(),
    async page({ workspaceId }, query) {
      const { name, type } = filter.parse(query);
      const matching = store.read
        .selectFrom('monitors')
        .where('workspace_id', '=', workspaceId)
        .$if(type !== undefined, (from) => from.where('type', '=', type ?? 'http'))
        .$if(name !== undefined, (from) =>
          from.where(sql<boolean>`instr(lower(name), lower(${name ?? ''})) > 0`),
        );
      const [rows, counted] = await Promise.all([
        matching.selectAll().orderBy('id').limit(query.limit).offset(query.offset).execute(),
        matching.select((from) => from.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
      ]);
      return { rows, total: counted.total };
    },
    async present(rows, shown) {
      const now = clock.wall();
      return rows.map((row) => monitorView(row, { secrets, states, now, shown }));
    },
  };
  return collectionEndpoints(collection, dependencies);
}
