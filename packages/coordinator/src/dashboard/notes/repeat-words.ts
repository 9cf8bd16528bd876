import type { WindowView } from '../../api/routes/maintenance.ts';
import type { Option } from '../forms/fields.ts';

export const FREQUENCY_OPTIONS: readonly Option[] = [
  { value: 'once', label: 'Once' },
  { value: 'daily', label: 'Every day' },
  { value: 'weekly', label: 'Every week' },
  { value: 'monthly', label: 'Every month' },
];

const WEEKDAYS = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
} as const;

export const WEEKDAY_OPTIONS: readonly Option[] = Object.entries(WEEKDAYS).map(([value, label]) => ({
  value,
  label,
}));

const WEEKS: Readonly<Record<number, string>> = {
  1: 'first',
  2: 'second',
  3: 'third',
  4: 'fourth',
  [-1]: 'last',
};

export const WEEK_OPTIONS: readonly Option[] = [
  { value: 'date', label: 'The date on which it begins' },
  ...[1, 2, 3, 4, -1].map((week) => ({
    value: String(week),
    label: `The ${WEEKS[week]} of the weekday above`,
  })),
];

/** How a window repeats, in words: `every 2 weeks on Monday and Thursday`. */
export function repeatWords({ repeat }: Pick<WindowView, 'repeat'>): string {
  if (repeat === null) return 'once';
  const { frequency, interval, weekdays, week } = repeat;
  const unit = { daily: 'day', weekly: 'week', monthly: 'month' }[frequency];
  const every = interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`;
  const days = (weekdays ?? []).map((day) => WEEKDAYS[day]);
  if (days.length === 0) return frequency === 'monthly' ? `${every} on the same date` : every;
  if (week !== null) return `${every} on the ${WEEKS[week]} ${days[0]}`;
  return `${every} on ${new Intl.ListFormat('en').format(days)}`;
}
