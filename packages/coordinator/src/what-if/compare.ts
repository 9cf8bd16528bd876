import { merged, occurrencesIn } from '../domain/maintenance-window.ts';
import type { LiveMonitor, MonitorStatus } from '../domain/monitor.ts';
import { addTimes, NO_TIMES, type StatusTimes, timesBetween, withMaintenance } from '../domain/uptime.ts';
import type { LiveWindow } from '../evaluation/windows.ts';
import { windowsOfMonitor } from '../store/maintenance-windows.ts';
import type { Store } from '../store/store.ts';
import { alertsIn, changesIn, type PastAlert, type PastChange, statusAt } from '../store/told-history.ts';
import { readPast, stepsOf } from './past.ts';
import { Replay } from './replay.ts';
import type { DeclaredEffort, OtherSettings } from './settings.ts';

export type WhatIf = {
  readonly present: LiveMonitor;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly effort: DeclaredEffort;
  readonly settings: OtherSettings;
  /** Kinds of channel that are told of an incident that ends without a recovery. */
  readonly closing: readonly string[];
  /** Epoch ms on the slots' clock. */
  readonly from: number;
  readonly until: number;
};

/** One side of a comparison, by ascending time. */
export type Course = {
  readonly changes: readonly PastChange[];
  readonly alerts: readonly PastAlert[];
  readonly times: StatusTimes;
};

/** Epoch ms: `from` <= instant < `until`. */
type Span = { readonly from: number; readonly until: number };

export type Comparison = {
  /** Begin of the compared time, epoch ms. It is later than asked where less was journalled. */
  readonly from: number;
  readonly until: number;
  readonly actual: Course;
  readonly replayed: Course;
};

/**
 * Replays a monitor with other settings and compares with what happened.
 *
 * @returns null: nothing is journalled yet
 */
export async function compare(store: Pick<Store, 'read'>, asked: WhatIf): Promise<Comparison | null> {
  const { present, settings, until, closing } = asked;
  const past = await readPast(store, asked, asked);
  if (past === null || past.from >= until) return null;
  const kinds: ReadonlySet<string> = new Set(closing);
  const replay = new Replay({
    ...asked,
    closesIncidents: (kind) => kinds.has(kind),
    beginning: past.beginning,
  });
  for await (const steps of stepsOf(store, present.id, past, until, settings)) {
    for (const step of steps) replay.tell(step);
  }
  replay.finish(until);
  const { from } = past;
  const windows = await windowsOfMonitor(store, present.id);
  return {
    from,
    until,
    actual: await actualCourse(store, present.id, { from, until }, windows),
    replayed: replayedCourse(replay, past.beginning.status, { from, until }, windows),
  };
}

async function actualCourse(
  store: Pick<Store, 'read'>,
  id: number,
  span: Span,
  windows: readonly LiveWindow[],
): Promise<Course> {
  const before = await statusAt(store, id, span.from - 1);
  const changes = await changesIn(store, id, span);
  const alerts = await alertsIn(store, id, span);
  return { changes, alerts, times: timesOf(before?.status ?? 'unknown', changes, span, windows) };
}

function replayedCourse(
  { changes: all, alerts }: Replay,
  first: MonitorStatus,
  span: Span,
  windows: readonly LiveWindow[],
): Course {
  const before = all.findLast(({ at }) => at < span.from)?.to ?? first;
  const changes = all.filter(({ at }) => at >= span.from && at < span.until);
  return {
    changes,
    alerts: alerts
      .filter(({ at }) => at >= span.from && at < span.until)
      .map(({ notificationId, status, at }) => ({ notificationId, status, at })),
    times: timesOf(before, changes, span, windows),
  };
}

function timesOf(
  before: MonitorStatus,
  changes: readonly PastChange[],
  { from, until }: Span,
  windows: readonly LiveWindow[],
): StatusTimes {
  const history = [{ at: from, status: before }, ...changes.map(({ at, to }) => ({ at, status: to }))];
  const timesIn = (span: Span) => timesBetween(history, [span.from, span.until])[0] ?? NO_TIMES;
  const maintenance = merged(windows.flatMap(({ times }) => occurrencesIn(times, from, until)))
    .map((each) => ({ from: Math.max(from, each.from), until: Math.min(until, each.until) }))
    .map(timesIn)
    .reduce(addTimes, NO_TIMES);
  return withMaintenance(timesIn({ from, until }), maintenance);
}
