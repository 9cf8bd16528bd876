import { z } from 'zod';
import { IMPACTS, UPDATE_STATES } from '../domain/incident-updates.ts';
import { FREQUENCIES, nextOccurrence, WEEKDAYS, type WindowTimes } from '../domain/maintenance-window.ts';
import { id, instant } from './answers.ts';

/* Schemas of the answers about maintenance windows and incidents. */

/** `planned`: an occurrence comes. `active`: it is under way. `ended`: none comes any more. */
export const WINDOW_STATES = ['planned', 'active', 'ended'] as const;

/** @param now epoch ms */
export function windowState(times: WindowTimes, now: number): (typeof WINDOW_STATES)[number] {
  const next = nextOccurrence(times, now);
  if (next === null) return 'ended';
  return next.from <= now ? 'active' : 'planned';
}

export const windowView = z
  .object({
    id,
    title: z.string(),
    text: z.string(),
    starts_at: instant,
    ends_at: instant,
    time_zone: z.string(),
    repeat: z
      .object({
        frequency: z.enum(FREQUENCIES),
        interval: z.number().int(),
        weekdays: z.array(z.enum(WEEKDAYS)).nullable(),
        week: z.number().int().nullable(),
        until: instant.nullable(),
      })
      .nullable(),
    monitor_ids: z.array(id),
    page_ids: z.array(id),
    component_ids: z.array(id),
    state: z.enum(WINDOW_STATES),
    occurrence: z
      .object({ starts_at: instant, ends_at: instant })
      .nullable()
      .meta({ description: 'The present or the next occurrence. Null where none comes any more.' }),
    ended_at: instant.nullable().meta({ description: 'When an operator ended it. Null where nobody did.' }),
    warnings: z
      .array(z.string())
      .meta({ description: 'What the window does not do, in sentences for people.' }),
    created_at: instant,
    updated_at: instant,
  })
  .meta({
    examples: [
      {
        id: '4',
        title: 'Update of the database',
        text: 'Orders may be slow.',
        starts_at: '2026-11-25T01:00:00.000Z',
        ends_at: '2026-11-25T03:00:00.000Z',
        time_zone: 'Europe/Berlin',
        repeat: { frequency: 'weekly', interval: 1, weekdays: ['wed'], week: null, until: null },
        monitor_ids: ['12'],
        page_ids: [],
        component_ids: [],
        state: 'planned',
        occurrence: { starts_at: '2026-11-25T01:00:00.000Z', ends_at: '2026-11-25T03:00:00.000Z' },
        ended_at: null,
        warnings: [],
        created_at: '2026-11-22T10:00:00.000Z',
        updated_at: '2026-11-22T10:00:00.000Z',
      },
    ],
  });
export type WindowView = z.infer<typeof windowView>;

const UPDATE = {
  id: '9',
  incident_id: '31',
  state: 'identified' as const,
  text: 'The provider of the payments has an outage.',
  component_ids: ['7'],
  at: '2026-11-22T10:12:00.000Z',
  created_at: '2026-11-22T10:12:00.000Z',
  updated_at: '2026-11-22T10:12:00.000Z',
};

export const updateView = z
  .object({
    id,
    incident_id: id,
    state: z.enum(UPDATE_STATES),
    text: z.string(),
    component_ids: z.array(id),
    at: instant,
    created_at: instant,
    updated_at: instant,
  })
  .meta({ examples: [UPDATE] });
export type UpdateView = z.infer<typeof updateView>;

export const incidentView = z
  .object({
    id,
    origin: z
      .enum(['monitor', 'operator'])
      .meta({ description: '`monitor`: svc has recorded it. `operator`: people wrote it for pages.' }),
    key: z
      .string()
      .nullable()
      .meta({ description: 'The `incident` of alerts and transitions. Null where people wrote it.' }),
    monitor_id: id.nullable(),
    title: z.string().nullable(),
    impact: z.enum(IMPACTS),
    state: z.enum(UPDATE_STATES).meta({
      description:
        'State of the newest update. An incident of a monitor is `resolved` when the monitor has recovered, and `investigating` without an update.',
    }),
    started_at: instant,
    resolved_at: instant.nullable().meta({ description: 'Null while it is open.' }),
    closure: z.string().nullable().meta({
      description:
        'Why it ended without a recovery (`monitor-deactivated`, `monitor-deleted`). Otherwise null.',
    }),
    page_ids: z.array(id),
    latest_update: updateView.nullable(),
  })
  .meta({
    examples: [
      {
        id: '31',
        origin: 'operator',
        key: null,
        monitor_id: null,
        title: 'Payments fail',
        impact: 'partial_outage',
        state: 'identified',
        started_at: '2026-11-22T10:00:00.000Z',
        resolved_at: null,
        closure: null,
        page_ids: ['5'],
        latest_update: UPDATE,
      },
    ],
  });
export type IncidentView = z.infer<typeof incidentView>;
