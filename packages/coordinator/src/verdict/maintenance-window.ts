import { appendTo } from '@svc/shared/collections.ts';
import { instantOf, localAt } from './local-time.ts';
import { DAY_MS } from './summary-range.ts';

/** Days of the week in the order of ISO 8601. Calculations use the index of a day in this list. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;

/**
 * How a window repeats. Days are local days of its time zone. This is a subset of the recurrence rules of
 * iCalendar (RFC 5545, section 3.3.10); weeks begin on Monday.
 */
export type Repetition = {
  readonly frequency: (typeof FREQUENCIES)[number];
  /** Number of days, weeks or months from one repetition to the next; 1 or more. */
  readonly interval: number;
  /** `weekly`: the days of the week. `monthly` with `week`: one day. Otherwise empty. */
  readonly weekdays: readonly Weekday[];
  /**
   * `monthly` only: 1 to 4 for the first to fourth of these weekdays in the month, -1 for the last. Null: the
   * window repeats on the day of the month of its first occurrence, and leaves out months without that day.
   */
  readonly week: number | null;
  /** No repetition begins after this instant, epoch ms. Null: the window repeats for ever. */
  readonly until: number | null;
};

/** The times of a maintenance window or a mute. */
export type WindowTimes = {
  /** Begin and end of the first occurrence, epoch ms. */
  readonly startsAt: number;
  readonly endsAt: number;
  readonly timeZone: string;
  /** Null: the window has only its first occurrence. */
  readonly repeat: Repetition | null;
  /**
   * When the whole window was ended, epoch ms. From then on it is over, even in the middle of an occurrence. Null: it
   * was not ended.
   */
  readonly endedAt: number | null;
};

/** One occurrence, epoch ms. It includes `from` and excludes `until`. */
export type Occurrence = { readonly from: number; readonly until: number };

/**
 * The search for the next occurrence covers this number of days, multiplied by the interval of the
 * repetition: February 29th comes within eight years.
 */
const LONGEST_WAIT_DAYS = 8 * 366 + 31;
/** Upper bound on the difference between a local time and its instant, ms. */
const SLACK_MS = 2 * DAY_MS;

/**
 * The occurrences that overlap a span of time, in their order.
 *
 * Each occurrence begins and ends at the same local times as the first occurrence. A window from 02:00 to
 * 04:00 therefore ends at 04:00 even on days on which clocks change. If an occurrence would be empty because of
 * such a change, it gets the length of the first occurrence instead.
 *
 * @param from  epoch ms
 * @param until epoch ms, not included in the span
 */
export function occurrencesIn(times: WindowTimes, from: number, until: number): Occurrence[] {
  return [...occurrencesFrom(times, from, until)];
}

/** How far {@link isDuring} looks ahead, ms: consecutive calls are mostly about the same weeks. */
const LOOKED_AHEAD_MS = 32 * DAY_MS;

/**
 * The result of the last search in a window: the first occurrence that ends after `from`; null: none begins
 * within {@link LOOKED_AHEAD_MS} after `from`.
 */
type Looked = { readonly from: number; readonly next: Occurrence | null };

/**
 * The last search of each window. A monitor may have a thousand windows, and every announcement about it
 * checks all of them.
 */
const looked = new WeakMap<WindowTimes, Looked>();

/**
 * Whether an occurrence covers the instant. If the same window was asked about an
 * instant shortly before, the answer takes almost no time.
 */
export function isDuring(times: WindowTimes, instant: number): boolean {
  const last = looked.get(times);
  if (last !== undefined && isStillNext(last, instant))
    return last.next !== null && last.next.from <= instant;
  const next = occurrencesFrom(times, instant, instant + LOOKED_AHEAD_MS).next().value ?? null;
  looked.set(times, { from: instant, next });
  return next !== null && next.from <= instant;
}

function isStillNext({ from, next }: Looked, instant: number): boolean {
  return instant >= from && instant < (next?.until ?? from + LOOKED_AHEAD_MS);
}

/** The occurrence that covers the instant, or the next one after it; null: the window is over. */
export function nextOccurrence(times: WindowTimes, instant: number): Occurrence | null {
  const until =
    Math.max(instant, times.startsAt) + LONGEST_WAIT_DAYS * (times.repeat?.interval ?? 1) * DAY_MS;
  return occurrencesFrom(times, instant, until).next().value ?? null;
}

/** Whether an occurrence begins before the previous occurrence has ended. */
export function overlapsItself(times: WindowTimes): boolean {
  if (times.repeat === null) return false;
  let end = Number.NEGATIVE_INFINITY;
  // The shortest distance between two occurrences is found within a year of days or weeks, and within two
  // years of months, because at least one of two years has no 29th of February.
  const days = times.repeat.frequency === 'monthly' ? 800 : 400;
  for (const { from, until } of occurrencesFrom(times, times.startsAt, times.startsAt + days * DAY_MS)) {
    if (from < end) return true;
    end = until;
  }
  return false;
}

/** Whether the repetition contains the day of the first occurrence, as iCalendar requires it. */
export function beginsWithItself({ startsAt, timeZone, repeat }: WindowTimes): boolean {
  return repeat === null || isOnDay(repeat, dayOf(localAt(timeZone, startsAt)), localAt(timeZone, startsAt));
}

function* occurrencesFrom(times: WindowTimes, from: number, until: number): Generator<Occurrence, undefined> {
  for (const { from: begin, until: end } of unended(times, from, until)) {
    const cut = Math.min(end, times.endedAt ?? end);
    if (cut > begin && begin < until && cut > from) yield { from: begin, until: cut };
  }
  return undefined;
}

/**
 * The occurrences that overlap the span, and maybe some before and after the span. An occurrence in which the
 * window was ended (`endedAt`) keeps its full length here.
 */
function* unended(times: WindowTimes, from: number, until: number): Generator<Occurrence> {
  const { startsAt, endsAt, timeZone, repeat } = times;
  if (repeat === null || (startsAt < until && endsAt > from)) yield { from: startsAt, until: endsAt };
  if (repeat === null) return;
  const localStart = localAt(timeZone, startsAt);
  const localEnd = localAt(timeZone, endsAt);
  const lasts = Math.max(localEnd - localStart, 0);
  const timeOfDay = localStart - dayOf(localStart);
  const firstDay = dayOf(localStart) + DAY_MS;
  const last = Math.min(until, times.endedAt ?? until) + SLACK_MS;
  for (let day = Math.max(firstDay, dayOf(from - lasts - SLACK_MS)); day < last; day += DAY_MS) {
    if (!isOnDay(repeat, day, localStart)) continue;
    const begin = instantOf(timeZone, day + timeOfDay);
    if (repeat.until !== null && begin > repeat.until) return;
    const end = instantOf(timeZone, day + timeOfDay + lasts);
    yield { from: begin, until: end > begin ? end : begin + (endsAt - startsAt) };
  }
}

/**
 * Whether an occurrence of the repetition begins on this local day. `day` is the
 * local time at which the day begins.
 */
function isOnDay(
  { frequency, interval, weekdays, week }: Repetition,
  day: number,
  localStart: number,
): boolean {
  const start = dayOf(localStart);
  switch (frequency) {
    case 'daily':
      return ((day - start) / DAY_MS) % interval === 0;
    case 'weekly': {
      const weeks = Math.round((mondayOf(day) - mondayOf(start)) / (7 * DAY_MS));
      return weeks % interval === 0 && weekdays.includes(weekdayOf(day));
    }
    case 'monthly': {
      if ((monthOf(day) - monthOf(start)) % interval !== 0) return false;
      if (week === null) return dateOf(day) === dateOf(start);
      return weekdays.includes(weekdayOf(day)) && isInWeek(day, week);
    }
  }
}

/** Whether the day is the `week`th of its weekday in its month, or the last one (-1). */
function isInWeek(day: number, week: number): boolean {
  if (week > 0) return Math.ceil(dateOf(day) / 7) === week;
  return monthOf(day + 7 * DAY_MS) !== monthOf(day);
}

/** Beginning of the local day that contains the local time. */
function dayOf(local: number): number {
  return Math.floor(local / DAY_MS) * DAY_MS;
}

export function weekdayOf(day: number): Weekday {
  return WEEKDAYS[weekdayIndex(day)] ?? 'mon';
}

/** Index of the day in {@link WEEKDAYS}: 0 for Monday. The epoch began on a Thursday. */
function weekdayIndex(day: number): number {
  const days = Math.floor(day / DAY_MS) + 3;
  return ((days % 7) + 7) % 7;
}

function mondayOf(day: number): number {
  return day - weekdayIndex(day) * DAY_MS;
}

/** Number of the month since year 0. */
function monthOf(day: number): number {
  const date = new Date(day);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function dateOf(day: number): number {
  return new Date(day).getUTCDate();
}

/** Merges spans that touch or overlap. The result covers the same time in ascending order. */
export function mergeSpans(spans: readonly Occurrence[]): Occurrence[] {
  const found: Occurrence[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last === undefined || span.from > last.until) found.push(span);
    else if (span.until > last.until) found[found.length - 1] = { from: last.from, until: span.until };
  }
  return found;
}

/** A maintenance window or a mute as the evaluation needs it. */
export type LiveWindow = {
  /** Id of the window. The id of a mute is the negated id of its monitor. */
  readonly id: number;
  /** Monitors whose alerts the window holds. */
  readonly monitorIds: readonly number[];
  readonly times: WindowTimes;
};

const NONE: readonly never[] = [];

/**
 * All maintenance windows and mutes that may hold alerts now or later. A change takes
 * no longer if there are many of them: a workspace may mute thousands of monitors.
 */
export class Windows {
  readonly #byId = new Map<number, LiveWindow>();
  readonly #byMonitor = new Map<number, LiveWindow[]>();

  /** Makes the set of these windows, which must have different ids. */
  static of(windows: Iterable<LiveWindow>): Windows {
    const all = new Windows();
    for (const window of windows) all.set(window.id, window);
    return all;
  }

  get(id: number): LiveWindow | undefined {
    return this.#byId.get(id);
  }

  values(): Iterable<LiveWindow> {
    return this.#byId.values();
  }

  /** Sets the window with this id, in place of an earlier one. Null: there is no such window any more. */
  set(id: number, window: LiveWindow | null): void {
    for (const monitorId of this.#byId.get(id)?.monitorIds ?? NONE) {
      const others = this.#of(monitorId).filter((other) => other.id !== id);
      if (others.length === 0) this.#byMonitor.delete(monitorId);
      else this.#byMonitor.set(monitorId, others);
    }
    this.#byId.delete(id);
    if (window === null) return;
    this.#byId.set(id, window);
    for (const monitorId of window.monitorIds) appendTo(this.#byMonitor, monitorId, window);
  }

  /**
   * Whether the monitor is muted, or one of its windows has an
   * occurrence, at the instant (epoch ms on the slots' clock).
   */
  cover(monitorId: number, instant: number): boolean {
    return this.hold(monitorId, instant, () => true);
  }

  /**
   * Whether one of the monitor's windows has an occurrence
   * at the instant. Unlike {@link cover}, it ignores mutes.
   */
  isUnderMaintenance(monitorId: number, instant: number): boolean {
    return this.hold(monitorId, instant, ({ id }) => id > 0);
  }

  /** Whether one of the monitor's windows and mutes that count has an occurrence at the instant. */
  hold(monitorId: number, instant: number, counts: (window: LiveWindow) => boolean): boolean {
    return this.#of(monitorId).some((window) => counts(window) && isDuring(window.times, instant));
  }

  #of(monitorId: number): readonly LiveWindow[] {
    return this.#byMonitor.get(monitorId) ?? NONE;
  }
}

/** The windows during an evaluation. Its changes may still be discarded, so they do not change the {@link Windows}. */
export class DraftWindows {
  readonly #committed: Windows;
  readonly #changes = new Map<number, LiveWindow | null>();
  readonly #changed = new Windows();

  constructor(committed: Windows) {
    this.#committed = committed;
  }

  /** The changed windows by their ids, null for those that were removed. */
  get changes(): ReadonlyMap<number, LiveWindow | null> {
    return this.#changes;
  }

  get(id: number): LiveWindow | undefined {
    const changed = this.#changes.get(id);
    return changed === undefined ? this.#committed.get(id) : (changed ?? undefined);
  }

  /** See {@link Windows.set}. */
  set(id: number, window: LiveWindow | null): void {
    this.#changes.set(id, window);
    this.#changed.set(id, window);
  }

  /** See {@link Windows.cover}. */
  cover(monitorId: number, instant: number): boolean {
    const isUnchanged = ({ id }: LiveWindow) => !this.#changes.has(id);
    return this.#changed.cover(monitorId, instant) || this.#committed.hold(monitorId, instant, isUnchanged);
  }
}
