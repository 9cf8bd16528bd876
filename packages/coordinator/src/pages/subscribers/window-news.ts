import {
  nextOccurrence,
  type Occurrence,
  occurrencesIn,
  type WindowTimes,
} from '../../verdict/maintenance-window.ts';

/** What the subscribers of a page were told of a window. Instants are epoch ms. */
export type WindowTold = {
  /** The beginning that was announced; null: none was. */
  readonly announcedFrom: number | null;
  /** Beginning of the occurrence whose beginning was told; null: none was. */
  readonly begunFrom: number | null;
  /** Whether the end of that one was told too. */
  readonly isOver: boolean;
};

/** Something to tell of a window, and what is told then. */
export type WindowNews = Occurrence & {
  readonly stage: 'scheduled' | 'in_progress' | 'completed';
  readonly told: WindowTold;
};

type Telling = {
  readonly times: WindowTimes;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Null: nothing yet. */
  readonly told: WindowTold | null;
  /** Beginning of the time whose news are told, epoch ms. */
  readonly since: number;
  readonly now: number;
};

/**
 * The next thing to tell of a maintenance window; null: everything is told. The end of what was begun comes first, then
 * the beginning of what is going on, then the announcement of what comes. A window that repeats is announced once, and
 * one that does not again when it was put off.
 */
export function windowNews(telling: Telling): WindowNews | null {
  const next = nextOccurrence(telling.times, telling.now);
  const current = next !== null && next.from <= telling.now ? next : null;
  return (
    endNews(telling, current) ??
    (current === null ? (next === null ? null : announcement(telling, next)) : beginNews(telling, current))
  );
}

function endNews({ times, told, now }: Telling, current: Occurrence | null): WindowNews | null {
  const from = told?.begunFrom ?? null;
  if (told === null || from === null || told.isOver || current?.from === from) return null;
  const [begun] = occurrencesIn(times, from, from + 1);
  const until = begun?.from === from ? Math.min(begun.until, now) : now;
  return { stage: 'completed', from, until, told: { ...told, isOver: true } };
}

function beginNews({ told, since }: Telling, current: Occurrence): WindowNews | null {
  const { from } = current;
  if (from < since || told?.begunFrom === from) return null;
  const announcedFrom = told?.announcedFrom ?? from;
  return { stage: 'in_progress', ...current, told: { announcedFrom, begunFrom: from, isOver: false } };
}

function announcement({ times, createdAt, told, since }: Telling, next: Occurrence): WindowNews | null {
  const isToldOf = told?.announcedFrom === next.from || (told !== null && times.repeat !== null);
  if (isToldOf || (told === null && createdAt < since)) return null;
  const before = told ?? { begunFrom: null, isOver: false };
  return { stage: 'scheduled', ...next, told: { ...before, announcedFrom: next.from } };
}
