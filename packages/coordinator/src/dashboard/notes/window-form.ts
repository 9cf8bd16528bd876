import { MONITOR_KINDS } from '@svc/shared/resources/monitors.ts';
import { WINDOW } from '../../api/routes/maintenance.ts';
import type { Field } from '../forms/fields.ts';
import type { Editor } from '../resources/editor.ts';
import { localText } from './local-text.ts';
import { COMPONENT_IDS, choiceOf, LINE, LINES, noteField, noteForm, PAGE_IDS } from './note-fields.ts';
import { FREQUENCY_OPTIONS, WEEK_OPTIONS, WEEKDAY_OPTIONS } from './repeat-words.ts';

type Json = Readonly<Record<string, unknown>>;

const REPEAT: readonly Field[] = [
  noteField('frequency', 'How often', choiceOf(FREQUENCY_OPTIONS), { isRequired: true }),
  noteField(
    'interval',
    'Every',
    { type: 'number', minimum: 1, maximum: 99 },
    { help: 'Every so many days, weeks or months.' },
  ),
  noteField(
    'weekdays',
    'Days of the week',
    { type: 'choices', options: WEEKDAY_OPTIONS },
    {
      help: 'Every week: all days that it happens on; without one, the day on which it begins. Every month: one day, with the choice below.',
    },
  ),
  noteField('week', 'Day of the month', choiceOf(WEEK_OPTIONS), {
    help: 'Every month only. Months that lack the date are left out.',
    isRequired: true,
  }),
  noteField('until', 'Last time', { type: 'local' }, { help: 'None begins after it. Empty: for ever.' }),
];

const WINDOW_FIELDS: readonly Field[] = [
  noteField('title', 'Title', LINE, { help: 'What is done, in one line.', isRequired: true }),
  noteField('text', 'What visitors are told', LINES),
  noteField('starts_at', 'Begins', { type: 'local' }, { isRequired: true }),
  noteField('ends_at', 'Ends', { type: 'local' }, { isRequired: true }),
  noteField('time_zone', 'Time zone', LINE, {
    help: 'A name as `Europe/Berlin`, or `UTC`. All times of this form are its local times.',
    isRequired: true,
  }),
  noteField('repeat', 'Repeats', { type: 'group', fields: REPEAT }),
  noteField(
    'monitor_ids',
    'Monitors whose alerts are held',
    { type: 'references', kinds: [...MONITOR_KINDS] },
    { help: 'Their uptime leaves the window out.' },
  ),
  noteField('page_ids', 'Status pages that show it', PAGE_IDS, {
    help: 'Pages that show one of the monitors show it too.',
  }),
  noteField('component_ids', 'Components that it affects', COMPONENT_IDS, {
    help: 'Those of the monitors are affected too.',
  }),
];

export const WINDOW_EDITOR: Editor = {
  form: noteForm(WINDOW_FIELDS, { hasSections: true }),
  objects: WINDOW,
  noun: 'maintenance window',
  newTitle: 'Schedule maintenance',
  heading: 'Change the window',
  list: { href: '/maintenance', label: 'Maintenance' },
  nameOf: ({ title }) => String(title),
  initial: { time_zone: 'UTC', repeat: { frequency: 'once', week: 'date' } },
  newPath: '/maintenance/new',
  editPath: (id) => `/maintenance/${id}/edit`,
  after: (id) => (id === null ? '/maintenance' : `/maintenance/${id}`),
  create: 'Schedule',
  shown: withLocalTimes,
  sent: windowBody,
};

/** A window of the API with the local times of its zone, and with a repetition that can be filled in. */
function withLocalTimes(window: Json): Json {
  const zone = String(window.time_zone);
  const repeat = window.repeat as Json | null;
  return {
    ...window,
    starts_at: localText(window.starts_at, zone),
    ends_at: localText(window.ends_at, zone),
    repeat:
      repeat === null
        ? { frequency: 'once', week: 'date' }
        : {
            ...repeat,
            week: repeat.week === null ? 'date' : String(repeat.week),
            until: localText(repeat.until, zone),
          },
  };
}

/**
 * The body of a request for a filled-in form. Times that were left as they were shown stay the same instants: a local
 * time need not name one alone, when clocks are set back.
 */
function windowBody(filled: Json, stored: { readonly body: Json; readonly answered: Json } | null): Json {
  const { frequency, interval, weekdays, week, until } = filled.repeat as Json;
  const { starts_at: startsAt, ends_at: endsAt } = filled;
  const known = stored !== null && stored.body.time_zone === filled.time_zone ? stored : null;
  const [shown, answered] = [known?.body ?? {}, known?.answered ?? {}];
  const [shownRepeat, answeredRepeat] = [(shown.repeat ?? {}) as Json, (answered.repeat ?? {}) as Json];
  return {
    ...filled,
    starts_at: startsAt === shown.starts_at ? answered.starts_at : (startsAt ?? ''),
    ends_at: endsAt === shown.ends_at ? answered.ends_at : (endsAt ?? ''),
    text: filled.text ?? '',
    repeat:
      frequency === 'once'
        ? null
        : {
            frequency,
            interval,
            weekdays,
            week: week === 'date' || week === null ? null : Number(week),
            until: until === shownRepeat.until ? answeredRepeat.until : until,
          },
  };
}
