import { LIMITS } from '@svc/shared/limits.ts';
import { lines, wellFormed } from '@svc/shared/resources/texts.ts';
import { z } from 'zod';
import { isTimeZone, localAt } from '../domain/local-time.ts';
import {
  beginsWithItself,
  FREQUENCIES,
  overlapsItself,
  type Repetition,
  WEEKDAYS,
  weekdayOf,
} from '../domain/maintenance-window.ts';
import type { WindowContent } from '../store/maintenance-windows.ts';
import { id } from './answers.ts';
import { instantOrLocal, readInstant } from './instants.ts';
import { nameSchema, textUpTo } from './names.ts';
import { invalid } from './problem.ts';

/** Schema of a longer text that people write: lines, as they were written. */
export function noteText(description: string) {
  return textUpTo(LIMITS.noteText)
    .superRefine((text, context) => {
      const wrong = wellFormed(text) ?? lines(text);
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .meta({ description, maxLength: LIMITS.noteText });
}

/** Schema of a list of ids in a body. */
export function idList(description: string) {
  return z
    .array(id)
    .max(LIMITS.noteTargets, `may have at most ${LIMITS.noteTargets} ids`)
    .nullish()
    .meta({ description });
}

const FREQUENCY_MESSAGE = `must be ${FREQUENCIES.join(', ')}`;
const WEEKDAY_MESSAGE = `must be one of ${WEEKDAYS.join(', ')}`;

const repeatBody = z
  .strictObject({
    frequency: z.enum(FREQUENCIES, FREQUENCY_MESSAGE),
    interval: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(LIMITS.maintenanceInterval, `may be at most ${LIMITS.maintenanceInterval}`)
      .nullish()
      .meta({ description: 'Number of days, weeks or months between occurrences (default 1).' }),
    weekdays: z.array(z.enum(WEEKDAYS, WEEKDAY_MESSAGE)).max(7).nullish().meta({
      description:
        '`weekly`: the days of the week; the default is that of `starts_at`. `monthly`: one day, with `week`.',
    }),
    week: z.literal([1, 2, 3, 4, -1], 'must be 1, 2, 3, 4 or -1').nullish().meta({
      description:
        '`monthly`: which of the weekdays of a month, -1 for the last. Without it, the day of the month of `starts_at`; months without that day are left out.',
    }),
    until: instantOrLocal('No occurrence begins after this instant. The default is for ever.').nullish(),
  })
  .meta({ description: 'How the window repeats. Null: it happens once.' });

export const windowBody = z
  .strictObject({
    title: nameSchema('What is done, in one line.'),
    text: noteText('What visitors are told about it.').nullish(),
    starts_at: instantOrLocal(
      'Begin of the first occurrence: an instant (RFC 3339), or without an offset a local time of `time_zone`.',
    ),
    ends_at: instantOrLocal(
      `End of the first occurrence, at most ${LIMITS.maintenanceMs / 86_400_000} days later. Later occurrences end at the same local time.`,
    ),
    time_zone: z
      .string('must be a string')
      .refine(isTimeZone, 'is not a time zone that svc knows: use a name as Europe/Berlin, or UTC')
      .nullish()
      .meta({ description: 'Time zone of the local times and days. The default is UTC.' }),
    repeat: repeatBody.nullish(),
    monitor_ids: idList('Monitors whose alerts are held and whose uptime leaves the window out.'),
    page_ids: idList('Status pages that show the window, beside the pages that show one of its monitors.'),
    component_ids: idList('Components that pages show as under maintenance, beside those of the monitors.'),
  })
  .meta({
    examples: [
      {
        title: 'Update of the database',
        text: 'Orders may be slow.',
        starts_at: '2026-11-25T02:00',
        ends_at: '2026-11-25T04:00',
        time_zone: 'Europe/Berlin',
        repeat: { frequency: 'weekly', weekdays: ['wed'] },
        monitor_ids: ['12'],
      },
    ],
  });

type WindowBody = z.infer<typeof windowBody>;
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** @throws Problem `invalid` with all errors */
export function windowContent(body: WindowBody): WindowContent {
  const timeZone = body.time_zone ?? 'UTC';
  const startsAt = readInstant(body.starts_at, timeZone);
  const endsAt = readInstant(body.ends_at, timeZone);
  const repeat = repetitionOf(body.repeat ?? null, startsAt, timeZone);
  const content: WindowContent = {
    title: body.title,
    text: body.text ?? '',
    startsAt,
    endsAt,
    timeZone,
    repeat,
    monitorIds: numbers(body.monitor_ids),
    pageIds: numbers(body.page_ids),
    componentIds: numbers(body.component_ids),
  };
  const issues = [...timeIssues(content), ...repeatIssues(content), ...targetIssues(content)];
  if (issues.length > 0) throw invalid(issues);
  return content;
}

function repetitionOf(body: WindowBody['repeat'], startsAt: number, timeZone: string): Repetition | null {
  if (body === null || body === undefined) return null;
  const { frequency, interval, weekdays, week, until } = body;
  const own = frequency === 'weekly' ? [weekdayOf(localAt(timeZone, startsAt))] : [];
  return {
    frequency,
    interval: interval ?? 1,
    weekdays: weekdays === null || weekdays === undefined ? own : [...new Set(weekdays)],
    week: week ?? null,
    until: until === null || until === undefined ? null : readInstant(until, timeZone),
  };
}

function* timeIssues({ startsAt, endsAt }: WindowContent): Generator<Issue> {
  if (endsAt <= startsAt) yield { path: ['ends_at'], message: 'must be after starts_at' };
  else if (endsAt - startsAt > LIMITS.maintenanceMs) {
    const days = LIMITS.maintenanceMs / 86_400_000;
    yield { path: ['ends_at'], message: `may be at most ${days} days after starts_at` };
  }
}

function* repeatIssues(content: WindowContent): Generator<Issue> {
  const { repeat, startsAt, endsAt } = content;
  if (repeat === null || endsAt <= startsAt) return;
  const { frequency, weekdays, week, until } = repeat;
  const times = { ...content, endedAt: null };
  if (until !== null && until < startsAt)
    yield { path: ['repeat', 'until'], message: 'must not be before starts_at' };
  if (week !== null && frequency !== 'monthly') {
    yield { path: ['repeat', 'week'], message: 'is for monthly only' };
  } else if (frequency === 'daily' && weekdays.length > 0) {
    yield { path: ['repeat', 'weekdays'], message: 'are for weekly and monthly only' };
  } else if (frequency === 'weekly' && weekdays.length === 0) {
    yield { path: ['repeat', 'weekdays'], message: 'must have at least one day' };
  } else if (frequency === 'monthly' && weekdays.length !== (week === null ? 0 : 1)) {
    const message = week === null ? 'needs week beside it' : 'must have exactly one day beside week';
    yield { path: ['repeat', 'weekdays'], message };
  } else if (!beginsWithItself(times)) {
    const day = weekdayOf(localAt(content.timeZone, startsAt));
    const message = `must contain the day of starts_at, a ${day} in ${content.timeZone}`;
    yield { path: ['repeat', week === null ? 'weekdays' : 'week'], message };
  } else if (overlapsItself(times)) {
    yield { path: ['repeat'], message: 'begins again before it has ended' };
  }
}

function* targetIssues({ monitorIds, pageIds, componentIds }: WindowContent): Generator<Issue> {
  if (monitorIds.length + pageIds.length + componentIds.length > 0) return;
  yield { path: ['monitor_ids'], message: 'the window needs a monitor, a page or a component' };
}

export function numbers(ids: readonly string[] | null | undefined): number[] {
  return [...new Set(ids ?? [])].map(Number);
}
