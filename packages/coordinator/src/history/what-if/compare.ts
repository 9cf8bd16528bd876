import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';
import {
  alertsIn,
  announcedAt,
  changesIn,
  incidentAt,
  linkedChannels,
  type PastAlert,
  type PastChange,
  type RecordedRow,
  resultsAsRecorded,
  statusAt,
} from '../../store/history/replayed-history.ts';
import { windowsOfMonitor } from '../../store/incidents/maintenance-windows.ts';
import type { Store } from '../../store/store.ts';
import { lastedMs, longestCheckMs } from '../../verdict/check-duration.ts';
import { type LiveWindow, mergeSpans, occurrencesIn, Windows } from '../../verdict/maintenance-window.ts';
import type { LiveMonitor, MonitorStatus } from '../../verdict/monitor.ts';
import { freshForMs, votableForMs } from '../../verdict/status.ts';
import { addTimes, NO_TIMES, type StatusTimes, timesBetween, withMaintenance } from '../../verdict/uptime.ts';
import { type Beginning, Replay } from './replay.ts';

/** What to compare: a monitor, other settings for it, and a time. */
export type WhatIf = {
  readonly present: LiveMonitor;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The monitor's declared time-out, ms. */
  readonly timeoutMs: number;
  readonly settings: OtherSettings;
  /** Kinds of channel that get an alert when an incident ends without a recovery. */
  readonly closing: readonly string[];
  /** The requested time, epoch ms on the slots' clock. */
  readonly from: number;
  readonly until: number;
};

/**
 * What happened in the compared time, or would have happened with the other
 * settings. Lists are in order of time, oldest first.
 */
export type Course = {
  readonly changes: readonly PastChange[];
  readonly alerts: readonly PastAlert[];
  readonly times: StatusTimes;
};

/** Epoch ms: `from` <= instant < `until`. */
type Span = { readonly from: number; readonly until: number };

/** What happened in a time, and what would have happened with other settings. */
export type Comparison = {
  /**
   * Start of the compared time, epoch ms. It is later than requested if the monitor was created later, or if
   * its stored results do not reach far enough back.
   */
  readonly from: number;
  readonly until: number;
  readonly actual: Course;
  readonly replayed: Course;
};

/**
 * Replays the stored results of a monitor with other settings, and compares the outcome with what happened.
 * The replay begins before the requested time, by the longest time for which earlier results have an effect,
 * because past votes are not stored. The status, the incident, and the last alert to each channel at the
 * beginning of the replay are read from the store.
 *
 * @returns null: no results are stored for the requested time, or too few for a comparison
 */
export async function compare(store: Pick<Store, 'read'>, asked: WhatIf): Promise<Comparison | null> {
  const { present, createdAt, timeoutMs, settings, until, closing } = asked;
  const { id, periodMs, longestCheckMs } = present;
  const warmUpMs = freshForMs(periodMs, longestCheckMs) + votableForMs(periodMs, longestCheckMs);
  const monitor = altered(present, timeoutMs, settings);
  // Slots in a row, which change the status together, may begin before the requested time.
  const rowMs = (Math.max(monitor.confirmAfter, monitor.recoverAfter) - 1) * periodMs;
  const wanted = asked.from - warmUpMs - rowMs - periodMs;
  const isBorn = createdAt >= wanted;
  const at = isBorn ? createdAt : wanted;
  const beginning = await beginningOf(store, id, at);
  const windows = await windowsOfMonitor(store, id);
  const kinds: ReadonlySet<string> = new Set(closing);
  const replay = new Replay({
    monitor,
    windows: Windows.of(windows),
    closesIncidents: (kind) => kinds.has(kind),
    beginning,
  });
  let firstSlot: number | null = null;
  for await (const rows of resultsAsRecorded(store, id, { from: at, until })) {
    firstSlot ??= rows[0]?.slot ?? null;
    for (const together of recordedTogether(rows, settings)) replay.replayResults(together);
  }
  if (firstSlot === null) return null;
  replay.letTimePass(until);
  const span = { from: Math.max(asked.from, isBorn ? createdAt : firstSlot + warmUpMs + rowMs), until };
  if (span.from >= until) return null;
  return {
    ...span,
    actual: await actualCourse(store, id, span, windows),
    replayed: replayedCourse(replay, beginning.status, span, windows),
  };
}

async function beginningOf(store: Pick<Store, 'read'>, id: number, at: number): Promise<Beginning> {
  const past = await statusAt(store, id, at);
  const incident = await incidentAt(store, id, at);
  const channels = await linkedChannels(store, id);
  const linkOf = async (channel: (typeof channels)[number]) => {
    const { notificationId } = channel;
    return { ...channel, ...(await announcedAt(store, { monitorId: id, notificationId, at })) };
  };
  return {
    at,
    status: past?.status ?? 'unknown',
    since: past?.since ?? at,
    incident: incident?.key ?? null,
    incidentSince: incident?.opened_at ?? null,
    links: await Promise.all(channels.map(linkOf)),
  };
}

/** Applies the other settings to the results, and groups the results by the instant of their recording. */
function recordedTogether(rows: readonly RecordedRow[], settings: OtherSettings): Iterable<RecordedRow[]> {
  const altered = rows.map((row) => alteredRow(row, settings));
  if (settings.retry !== undefined) altered.sort((a, b) => a.recordedAt - b.recordedAt);
  return Map.groupBy(altered, ({ recordedAt }) => recordedAt).values();
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
    alerts: alerts.filter(({ at }) => at >= span.from && at < span.until),
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
  const maintenance = mergeSpans(windows.flatMap(({ times }) => occurrencesIn(times, from, until)))
    .map((each) => ({ from: Math.max(from, each.from), until: Math.min(until, each.until) }))
    .map(timesIn)
    .reduce(addTimes, NO_TIMES);
  return withMaintenance(timesIn({ from, until }), maintenance);
}

/**
 * The settings to replay with. Without `retry` and `degradedAtMs`, the recorded outcomes
 * are taken as they are. Without another setting, the value that is declared now is used.
 */
export type OtherSettings = {
  /** Number of attempts after the first. Attempts that were not made cannot be replayed. */
  readonly retry?: number | undefined;
  /** Latency above which a passing check is degraded, ms; 0: a passing check is never degraded. */
  readonly degradedAtMs?: number | undefined;
  /** The monitor is checked only from these regions. */
  readonly regions?: readonly Region[] | undefined;
  readonly quorum?: Quorum | undefined;
  readonly confirmAfter?: number | undefined;
  readonly recoverAfter?: number | undefined;
};

/** Returns the monitor with the other settings. `timeoutMs` is the declared time-out. */
function altered(
  monitor: LiveMonitor,
  timeoutMs: number,
  { retry, degradedAtMs, regions, quorum, confirmAfter, recoverAfter }: OtherSettings,
): LiveMonitor {
  return {
    ...monitor,
    quorum: quorum ?? monitor.quorum,
    confirmAfter: confirmAfter ?? monitor.confirmAfter,
    recoverAfter: recoverAfter ?? monitor.recoverAfter,
    ...(retry === undefined ? {} : { longestCheckMs: longestCheckMs(timeoutMs, retry) }),
    ...(degradedAtMs === undefined ? {} : { degradedAtMs }),
    ...(regions === undefined ? {} : { regions: fewer(monitor.regions, regions) }),
  };
}

/**
 * Returns the result that the check would have had with the other settings. With fewer
 * attempts, the check ends earlier and is recorded earlier.
 */
function alteredRow(row: RecordedRow, { retry, degradedAtMs }: OtherSettings): RecordedRow {
  const ended = retry === undefined ? row : withAttempts(row, retry + 1);
  return degradedAtMs === undefined ? ended : { ...ended, outcome: outcomeUnder(ended, degradedAtMs) };
}

function fewer(declared: readonly Region[] | null, regions: readonly Region[]): readonly Region[] {
  return declared === null ? regions : declared.filter((region) => regions.includes(region));
}

/**
 * Returns the result after at most `most` attempts. All attempts before the last one have failed, so a check
 * with fewer attempts has failed.
 */
function withAttempts(row: RecordedRow, most: number): RecordedRow {
  const last = row.attempts[most - 1];
  if (last === undefined || row.attempts.length <= most) return row;
  const attempts = row.attempts.slice(0, most);
  const savedMs = lastedMs({ attempts: row.attempts }) - lastedMs({ attempts });
  return {
    ...row,
    attempts,
    recordedAt: Math.max(row.slot, Math.floor(row.recordedAt - savedMs)),
    outcome: 'failed',
    latency: last.latency,
    statusCode: last.status_code ?? null,
    errorMessage: last.error_message ?? null,
  };
}

/**
 * Returns the outcome with another threshold. A degraded result with a message stays degraded, because its
 * cause is not its latency: its certificate expires soon.
 */
function outcomeUnder({ outcome, latency, errorMessage }: RecordedRow, degradedAtMs: number) {
  if (outcome === 'failed' || outcome === 'not_run') return outcome;
  if (outcome === 'degraded' && errorMessage !== null) return outcome;
  return degradedAtMs > 0 && latency !== null && latency > degradedAtMs ? 'degraded' : 'passed';
}
