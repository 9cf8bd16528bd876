import { z } from 'zod';
import { UPDATE_STATES } from '../../domain/incident-updates.ts';
import { PageNotesReader } from '../../notes/page-notes.ts';
import { existingResources } from '../../store/resources.ts';
import { id, instant } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { type Endpoint, endpoint, idOf, ok, workspaceOf } from '../endpoint.ts';
import { instantText } from '../instants.ts';
import { Problem } from '../problem.ts';

/** How far back the notes go, ms. */
const PAST_MS = 14 * 24 * 3_600_000;

const notesView = z
  .object({
    incidents: z
      .array(
        z.object({
          id,
          key: z.string().nullable(),
          title: z.string().nullable(),
          state: z.enum(UPDATE_STATES),
          impact: z.enum(['operational', 'degraded', 'partial_outage', 'down']),
          component_ids: z.array(id),
          started_at: instant,
          ended_at: instant.nullable(),
          updates: z.array(z.object({ id, at: instant, state: z.enum(UPDATE_STATES), text: z.string() })),
        }),
      )
      .meta({ description: 'Incidents with updates, newest first.' }),
    maintenance: z
      .array(
        z.object({
          id: z.string().meta({ description: 'Window and occurrence.' }),
          title: z.string(),
          description: z.string().nullable(),
          state: z.enum(['scheduled', 'in_progress', 'completed']),
          component_ids: z.array(id),
          starts_at: instant,
          ends_at: instant,
        }),
      )
      .meta({ description: 'Occurrences of maintenance windows, by their begin.' }),
  })
  .meta({
    examples: [
      {
        incidents: [],
        maintenance: [
          {
            id: '4-1764032400000',
            title: 'Update of the database',
            description: 'Orders may be slow.',
            state: 'scheduled',
            component_ids: ['7'],
            starts_at: '2025-11-25T01:00:00.000Z',
            ends_at: '2025-11-25T03:00:00.000Z',
          },
        ],
      },
    ],
  });

/** What visitors of a status page are shown of the notes. */
export function pageNotesEndpoints({ store, slotNow }: Pick<ApiParts, 'store' | 'slotNow'>): Endpoint[] {
  const reader = new PageNotesReader(store);
  return [
    endpoint({
      method: 'GET',
      path: '/v1/status-pages/{id}/notes',
      access: 'read',
      tag: 'Status pages',
      summary: 'Read the incidents and the maintenance that a page shows, two weeks back and ahead',
      description:
        'It has the incidents that people wrote about. A page shows those that name it, and those of its monitors that name no page. It shows maintenance windows that name it, one of its components or one of its monitors. Monitors that a public page hides are left out.',
      answers: { 200: { description: 'The notes of the page.', schema: notesView } },
      async handle(request) {
        const pageId = idOf(request);
        const existing = await existingResources(store, 'status_pages', workspaceOf(request), [pageId]);
        if (!existing.has(pageId)) throw new Problem('not-found', `there is no status page ${pageId}`);
        const now = slotNow();
        const { incidents, maintenance } = await reader.read(pageId, { from: now - PAST_MS, now });
        return ok({
          incidents: incidents.map(({ componentIds, startedAt, endedAt, updates, ...incident }) => ({
            ...incident,
            component_ids: componentIds,
            started_at: instantText(startedAt),
            ended_at: endedAt === null ? null : instantText(endedAt),
            updates: updates.map((update) => ({ ...update, at: instantText(update.at) })),
          })),
          maintenance: maintenance.map(
            ({ componentIds, startsAt, endsAt, createdAt: _, updatedAt: __, ...window }) => ({
              ...window,
              component_ids: componentIds,
              starts_at: instantText(startsAt),
              ends_at: instantText(endsAt),
            }),
          ),
        });
      },
    }),
  ];
}
