import { ID } from '@svc/shared/ids.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import { IMPACTS, UPDATE_STATES } from '../domain/incident-updates.ts';
import type { IncidentContent, UpdateContent } from '../store/incidents.ts';
import { idList, noteText, numbers } from './maintenance-body.ts';
import { nameSchema } from './names.ts';

const impact = z
  .enum(IMPACTS, `must be one of ${IMPACTS.join(', ')}`)
  .nullish()
  .meta({
    description: 'How pages show the affected components while the incident is open. The default is none.',
  });

const updateMembers = {
  state: z
    .enum(UPDATE_STATES, `must be one of ${UPDATE_STATES.join(', ')}`)
    .meta({ description: 'Stage of the work. `resolved` ends an incident that people wrote themselves.' }),
  text: noteText('What visitors are told, as plain text.').refine(
    (text) => text.trim() !== '',
    'must not be empty',
  ),
  component_ids: idList('Components that are affected, as of this update.'),
  at: z.iso
    .datetime({ offset: true, error: 'must be an instant as in 2027-01-01T00:00:00Z' })
    .nullish()
    .meta({ description: 'Instant of the update (RFC 3339), not in the future (default now).' }),
};

export const newIncidentBody = z
  .strictObject({
    title: nameSchema('What has happened, in one line.'),
    impact,
    page_ids: z
      .array(z.string('must be a string').regex(ID, 'must be the id of a status page'))
      .min(1, 'must have at least one page')
      .max(LIMITS.noteTargets)
      .meta({ description: 'Status pages that show it.' }),
    ...updateMembers,
  })
  .meta({
    examples: [
      {
        title: 'Payments fail',
        impact: 'partial_outage',
        page_ids: ['5'],
        state: 'investigating',
        text: 'Some payments by card fail. We are looking into it.',
        component_ids: ['7'],
      },
    ],
  });

export const incidentBody = z
  .strictObject({
    title: nameSchema('What has happened, in one line.').nullish().meta({
      description:
        'What has happened, in one line. Only an incident of a monitor may have none: it has the name of the monitor.',
    }),
    impact,
    page_ids: idList(
      'Status pages that show it. Only an incident of a monitor may have none: the pages that show the monitor.',
    ),
  })
  .meta({ examples: [{ title: 'Payments fail', impact: 'down', page_ids: ['5'] }] });

export const updateBody = z.strictObject({ ...updateMembers }).meta({
  examples: [
    { state: 'identified', text: 'The provider of the payments has an outage.', component_ids: ['7'] },
  ],
});

export function contentOf(
  body: Pick<z.infer<typeof incidentBody>, 'title' | 'impact' | 'page_ids'>,
): IncidentContent {
  return { title: body.title ?? null, impact: body.impact ?? 'none', pageIds: numbers(body.page_ids) };
}

/** @param now epoch ms */
export function updateContent(
  { state, text, component_ids, at }: Pick<z.infer<typeof updateBody>, keyof typeof updateMembers>,
  now: number,
): UpdateContent {
  const told = at === null || at === undefined ? now : Date.parse(at);
  return { state, text, componentIds: numbers(component_ids), at: told };
}
