import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from './monitor.ts';
import { bitOf, type RegionSet, regionSet } from './region-set.ts';
import type { MonitorState } from './state.ts';
import { electorateOf, freshForMs, isCounted, type Vote } from './status.ts';

/*
 * Notices tell people about a monitor where no alert does: a region fails alone, or there is no data. They change
 * no status, open no incident, and do not count for the uptime.
 *
 *     `active`, a region fails ── for a while ──▶ begun ──┬── its vote does not fail ──▶ over
 *                                                         └── the status is worse, or
 *                                                             the region is gone ──▶ dropped
 *     `unknown` ── for a while, and most other ──▶ begun ──┬── another status ──▶ over
 *                  monitors have data                      └── deactivated ──▶ dropped
 *
 * A notice that is dropped ends without a message: the incident has its own, or people changed the declaration.
 */

/** Minimum time without data before people are told, ms. */
const NO_DATA_MS = 10 * 60_000;

/** A notice that has begun. A monitor has at most one for each region, and one about missing data. */
export type MonitorNotice = {
  readonly monitorId: number;
  /** The region that fails alone; null: the monitor has no data. */
  readonly region: Region | null;
  /** Since when the region has failed alone, or since when there is no data, epoch ms. */
  readonly since: number;
};

export type NoticeChange<N extends MonitorNotice = MonitorNotice> =
  | { readonly is: 'begun'; readonly notice: MonitorNotice; readonly votes: readonly Vote[] }
  | { readonly is: 'over'; readonly notice: N; readonly votes: readonly Vote[] }
  | { readonly is: 'dropped'; readonly notice: N };

/** What the decision about a notice needs beside the monitor itself. */
export type NoticeMoment = {
  /** Epoch ms on the slots' clock. */
  readonly slotNow: number;
  /** Ms on the clock of `Vote.expiresAt`. */
  readonly now: number;
  /** The regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** For how long a region must fail alone, ms. */
  readonly regionAfterMs: number;
};

/**
 * Whether {@link noticeChanges} can find a beginning for this state. A look at all monitors calls it first,
 * because it is fast.
 */
export function mayBegin({ status, reason }: Readonly<MonitorState>): boolean {
  return status === 'unknown' || (status === 'active' && reason === 'minority-failed');
}

/**
 * Returns the changes of the notices of one monitor that are due.
 *
 * @param state   undefined: the monitor has no state, or was removed
 * @param monitor undefined: the monitor was removed
 * @param open    the notices of this monitor that have begun
 * @param isHeld  whether announcements about the monitor are
 *   held. While they are held, no notice begins, and none is over
 */
export function noticeChanges<N extends MonitorNotice>(
  state: Readonly<MonitorState> | undefined,
  monitor: LiveMonitor | undefined,
  open: readonly N[],
  isHeld: boolean,
  moment: NoticeMoment,
): NoticeChange<N>[] {
  if (state === undefined || monitor === undefined || !monitor.active) {
    return open.map((notice) => ({ is: 'dropped', notice }));
  }
  if (isHeld) return [];
  const { now, electable } = moment;
  const declared = monitor.regions === null ? null : regionSet(monitor.regions);
  const electorate = electorateOf(declared, electable, state.entered);
  const votes = state.votes.filter((vote) => isCounted(vote, electorate, now));
  const ends = open.flatMap((notice): NoticeChange<N>[] => {
    const { region } = notice;
    if (region === null) return state.status === 'unknown' ? [] : [{ is: 'over', notice, votes }];
    if (state.status === 'error' || state.status === 'degraded') return [{ is: 'dropped', notice }];
    if ((electorate & bitOf(region)) === 0) return [{ is: 'dropped', notice }];
    // A region that has stopped reporting neither fails nor works.
    const isOver = votes.some((vote) => vote.region === region && vote.outcome !== 'failed');
    return isOver ? [{ is: 'over', notice, votes }] : [];
  });
  const due =
    state.status === 'unknown'
      ? dueWithoutData(state, monitor, moment)
      : dueRegions(state, monitor, votes, moment);
  const begun = due
    .filter(({ region }) => !open.some((notice) => notice.region === region))
    .map((notice) => ({ is: 'begun', notice, votes }) as const);
  return [...ends, ...begun];
}

/** The notices about regions that have failed alone for long enough. */
function dueRegions(
  { id: monitorId, status, reason, since: activeSince }: Readonly<MonitorState>,
  { activatedAt }: LiveMonitor,
  votes: readonly Vote[],
  { slotNow, regionAfterMs }: NoticeMoment,
): MonitorNotice[] {
  if (status !== 'active' || reason !== 'minority-failed') return [];
  return votes
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ region, failedSince, slot }) => {
      return { monitorId, region, since: Math.max(failedSince ?? slot, activeSince, activatedAt) };
    })
    .filter(({ since }) => slotNow - since >= regionAfterMs);
}

/** The notice about missing data, if it is due. */
function dueWithoutData(
  { id: monitorId, since: unknownSince }: Readonly<MonitorState>,
  { activatedAt, periodMs }: LiveMonitor,
  { slotNow }: NoticeMoment,
): MonitorNotice[] {
  const since = Math.max(unknownSince, activatedAt);
  return slotNow - since > Math.max(3 * periodMs, NO_DATA_MS) ? [{ monitorId, region: null, since }] : [];
}

/**
 * Whether svc has worked for as long as a vote of the monitor counts, so that new data had time
 * to arrive. Before that, an outage of svc itself may be why data is missing, and nobody is told.
 *
 * @param workingMs how long svc has been able to get data: since the start of
 *   the leadership, or since most monitors of the workspace had data again
 */
export function hadTimeForData({ periodMs, longestCheckMs }: LiveMonitor, workingMs: number): boolean {
  return workingMs >= freshForMs(periodMs, longestCheckMs);
}
