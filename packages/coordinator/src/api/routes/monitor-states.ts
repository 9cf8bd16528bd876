import { PERIODICITIES, periodMs } from '@svc/shared/periodicity.ts';
import { MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { MASK } from '@svc/shared/secret.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import { z } from 'zod';
import { MONITOR_STATUSES } from '../../domain/monitor.ts';
import { MaintenanceNow } from '../../store/maintenance-now.ts';
import {
  monitorOverview,
  OVERVIEW_ORDERS,
  type OverviewRow,
  SHOWN_STATES,
} from '../../store/monitor-overview.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { idsFilter, nameFilter, typeFilter } from '../filters.ts';
import { listOf, offsetPage } from '../paging.ts';

const monitorStateView = z
  .object({
    id,
    type: z.enum(MONITOR_TYPES as [string, ...string[]]),
    name: z.string(),
    active: z.boolean(),
    status: z.enum(MONITOR_STATUSES),
    since: z
      .number()
      .nullable()
      .meta({ description: 'When the status began, epoch ms. Null where there was no verdict yet.' }),
    maintenance: z.boolean().meta({
      description: 'Whether a maintenance window of the monitor is under way: its alerts are held.',
    }),
    target: z.string().nullable().meta({
      description:
        'What is checked, without user information and with a mask in place of a query, whatever the scope of the token. Null while nobody leads.',
    }),
    periodicity: z.enum(PERIODICITIES).nullable().meta({ description: 'Null while nobody leads.' }),
  })
  .meta({
    examples: [
      {
        id: '12',
        type: 'http',
        name: 'API',
        active: true,
        status: 'active',
        since: 1_767_225_600_412,
        maintenance: false,
        target: 'https://api.example.com/health',
        periodicity: '30s',
      },
    ],
  });
export type MonitorStateView = z.infer<typeof monitorStateView>;

const COUNTS = { error: 0, degraded: 0, unknown: 0, active: 1, paused: 0 };

const page = listOf(monitorStateView);
const statesView = z
  .object({
    ...page.shape,
    counts: z
      .object({
        error: z.number().int(),
        degraded: z.number().int(),
        unknown: z.number().int(),
        active: z.number().int(),
        paused: z.number().int(),
      })
      .meta({
        description: 'Monitors by state, of those that pass the other filters. `paused` are not active.',
      }),
    under_maintenance: z.number().int().meta({
      description: 'Monitors under maintenance, of those that pass the filters `ids`, `name` and `type`.',
    }),
  })
  .meta({
    examples: [
      { ...(page.meta()?.examples as object[] | undefined)?.[0], counts: COUNTS, under_maintenance: 0 },
    ],
  });
export type MonitorStatesView = z.infer<typeof statesView>;

const query = offsetPage.extend({
  ids: idsFilter,
  name: nameFilter('name'),
  type: typeFilter(MONITOR_TYPES),
  state: z
    .enum(SHOWN_STATES, `must be one of ${SHOWN_STATES.join(', ')}`)
    .optional()
    .meta({ description: 'Only monitors of this state. `paused` are those that are not active.' }),
  maintenance: z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .meta({ description: 'Only monitors that are under maintenance now, or only others.' }),
  sort: z
    .enum(OVERVIEW_ORDERS, `must be one of ${OVERVIEW_ORDERS.join(', ')}`)
    .default('state')
    .meta({
      description: 'Order. `state` has the most urgent first; a minus turns an order around.',
    }),
});

type Parts = Pick<ApiParts, 'store' | 'monitors' | 'slotNow'>;

export const monitorStates = endpoint({
  method: 'GET',
  path: '/v1/monitor-states',
  access: 'read',
  tag: 'Monitors',
  summary: 'List monitors by their states',
  description:
    'An overview: much shorter than the list of monitors, which has their attributes, and sorted. The states are as they were last recorded.',
  query,
  answers: { 200: { description: 'A page of the list.', schema: statesView } },
});

export function monitorStateEndpoints({ store, monitors, slotNow }: Parts): ServedEndpoint[] {
  const maintenanceNow = new MaintenanceNow(store);
  const viewOf = ({ id, active, maintenance, ...row }: OverviewRow): MonitorStateView => {
    const monitor = monitors.get(id);
    return {
      ...row,
      id: String(id),
      active: active === 1,
      maintenance: maintenance === 1,
      target: monitor === undefined ? null : urlSecrets.replaced(monitor.target, MASK),
      periodicity: PERIODICITIES.find((each) => periodMs(each) === monitor?.periodMs) ?? null,
    };
  };
  return [
    serve(monitorStates, async (request) => {
      const { limit, offset, ids, name, type, state, maintenance, sort } = request.query;
      const workspaceId = workspaceOf(request);
      const { rows, counts, underMaintenance } = await monitorOverview(store, {
        workspaceId,
        ids,
        nameContains: name,
        type,
        state,
        windowsUnderWay: await maintenanceNow.underWay(workspaceId, slotNow()),
        isUnderMaintenance: maintenance === undefined ? undefined : maintenance === 'true',
        order: sort,
        limit,
        offset,
      });
      const total =
        state === undefined ? Object.values(counts).reduce((sum, count) => sum + count, 0) : counts[state];
      const page = { data: rows.map(viewOf), total, limit, offset };
      return ok({ ...page, counts, under_maintenance: underMaintenance } satisfies MonitorStatesView);
    }),
  ];
}
