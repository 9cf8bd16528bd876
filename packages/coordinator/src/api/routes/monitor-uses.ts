import { z } from 'zod';
import { usesOfMonitor } from '../../store/monitor-uses.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { requireMonitor } from './results.ts';

/** Most components and notifications in an answer; the counts tell how many there are. */
const MOST_NAMED = 50;

const count = z.number().int().min(0);

const usesView = z
  .object({
    components: z.array(z.object({ id, page_id: id, page_slug: z.string() })).meta({
      description: `The first ${MOST_NAMED} components of status pages that show the monitor.`,
    }),
    component_count: count,
    notifications: z
      .array(z.object({ id, name: z.string().nullable(), provider_type: z.string() }))
      .meta({ description: `The first ${MOST_NAMED} channels that receive its alerts.` }),
    notification_count: count,
  })
  .meta({
    examples: [
      {
        components: [{ id: '7', page_id: '2', page_slug: 'example' }],
        component_count: 1,
        notifications: [{ id: '3', name: 'Ops', provider_type: 'webhook' }],
        notification_count: 1,
      },
    ],
  });

export const monitorUses = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/uses',
  access: 'read',
  tag: 'Monitors',
  summary: 'List what refers to a monitor, and loses it with the monitor',
  answers: { 200: { description: 'What refers to it.', schema: usesView } },
});

export function monitorUsesEndpoints({ store }: Pick<ApiParts, 'store'>): ServedEndpoint[] {
  return [
    serve(monitorUses, async (request) => {
      const monitor = await requireMonitor(store, workspaceOf(request), idOf(request));
      const { components, notifications } = await usesOfMonitor(store, monitor.id, MOST_NAMED);
      return ok({
        components: components.first.map(({ id, pageId, slug }) => ({
          id: String(id),
          page_id: String(pageId),
          page_slug: slug,
        })),
        component_count: components.total,
        notifications: notifications.first.map(({ id, name, providerType }) => ({
          id: String(id),
          name,
          provider_type: providerType,
        })),
        notification_count: notifications.total,
      });
    }),
  ];
}
