import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { LiveMonitor, MonitorStatus } from '../domain/monitor.ts';
import { type StatusTimes, timesBetween } from '../domain/uptime.ts';
import type { Store } from '../store/store.ts';
import { alertsIn, changesIn, statusAt } from '../store/told-history.ts';
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

/** A change of status. `at`: epoch ms. */
export type Change = {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  readonly reason: string;
  readonly at: number;
};

/** An alert to a channel. `at`: when it was queued, epoch ms. */
export type SentAlert = {
  readonly notificationId: number;
  readonly status: AlertStatus;
  readonly at: number;
};

/** One side of a comparison, by ascending time. */
export type Course = {
  readonly changes: readonly Change[];
  readonly alerts: readonly SentAlert[];
  readonly times: StatusTimes;
};

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
  return {
    from,
    until,
    actual: await actualCourse(store, present.id, { from, until }),
    replayed: replayedCourse(replay, past.beginning.status, { from, until }),
  };
}

async function actualCourse(
  store: Pick<Store, 'read'>,
  id: number,
  span: { readonly from: number; readonly until: number },
): Promise<Course> {
  const before = await statusAt(store, id, span.from - 1);
  const changes = await changesIn(store, id, span);
  const alerts = await alertsIn(store, id, span);
  return { changes, alerts, times: timesOf(before?.status ?? 'unknown', changes, span) };
}

function replayedCourse(
  { changes: all, alerts }: Replay,
  first: MonitorStatus,
  span: { readonly from: number; readonly until: number },
): Course {
  const before = all.findLast(({ at }) => at < span.from)?.to ?? first;
  const changes = all.filter(({ at }) => at >= span.from && at < span.until);
  return {
    changes,
    alerts: alerts
      .filter(({ at }) => at >= span.from && at < span.until)
      .map(({ notificationId, status, at }) => ({ notificationId, status, at })),
    times: timesOf(before, changes, span),
  };
}

function timesOf(
  before: MonitorStatus,
  changes: readonly Change[],
  { from, until }: { readonly from: number; readonly until: number },
): StatusTimes {
  const history = [{ at: from, status: before }, ...changes.map(({ at, to }) => ({ at, status: to }))];
  const [times] = timesBetween(history, [from, until]);
  if (times === undefined) throw new RangeError(`no time between ${from} and ${until}`);
  return times;
}
