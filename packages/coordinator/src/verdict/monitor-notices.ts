import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from './monitor.ts';
import { hasRegion, type RegionSet, sizeOf } from './region-set.ts';
import type { MonitorState } from './state.ts';
import { freshForMs, isBelowHalf, type Vote } from './status.ts';
import { countedVotes, electorateFor } from './verdicts.ts';

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
 * A deactivation or a removal of the monitor drops all of its notices. A notice that is dropped ends without a
 * message: the incident has messages of its own, the region left the electorate, or people changed the declaration.
 */

/** Minimum time without data before a notice begins, ms. */
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

/** The data on which the decision about a notice depends, except the monitor itself. */
export type NoticeMoment = {
  /** Epoch ms on the slots' clock. */
  readonly slotNow: number;
  /** Ms on the clock of `Vote.expiresAt`. */
  readonly now: number;
  /** The regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** How long a region must fail alone before a notice begins, ms. */
  readonly regionAfterMs: number;
  /**
   * Since when svc has been able to get data of the workspace, epoch ms on the slots' clock: since the start of
   * the leadership, since this process was frozen, or since most monitors of the workspace had data again.
   */
  readonly workingSince: (workspaceId: number) => number;
  /** Whether announcements about the monitor are held. */
  readonly isHeld: (monitorId: number) => boolean;
};

/**
 * Whether a notice about the monitor may begin. This is a fast test, which is made first for all monitors. It
 * ignores holds, the electorate, and how long svc has worked; {@link noticeChanges} decides with them.
 */
export function mayBegin(
  { id, status, reason, since }: Readonly<MonitorState>,
  monitors: { get(id: number): LiveMonitor | undefined },
  { slotNow, regionAfterMs }: Pick<NoticeMoment, 'slotNow' | 'regionAfterMs'>,
): boolean {
  // Most states end here, before the lookup of the monitor, which would take most of the time.
  if (status !== 'unknown' && (status !== 'active' || reason !== 'minority-failed')) return false;
  const monitor = monitors.get(id);
  if (monitor?.active !== true) return false;
  const lastedMs = slotNow - Math.max(since, monitor.activatedAt);
  return status === 'unknown' ? lastedMs > noDataAfterMs(monitor) : lastedMs >= regionAfterMs;
}

/** How long the status must be `unknown` before a notice begins, ms. */
function noDataAfterMs({ periodMs }: LiveMonitor): number {
  return Math.max(3 * periodMs, NO_DATA_MS);
}

/**
 * Returns the changes of the notices of one monitor that are due. While announcements about the
 * monitor are held, no notice begins or ends, unless the monitor is deactivated or removed.
 *
 * @param state   undefined: the monitor has no state, or was removed
 * @param monitor undefined: the monitor was removed
 * @param open    the notices of this monitor that have begun
 */
export function noticeChanges<N extends MonitorNotice>(
  state: Readonly<MonitorState> | undefined,
  monitor: LiveMonitor | undefined,
  open: readonly N[],
  moment: NoticeMoment,
): NoticeChange<N>[] {
  if (state === undefined || monitor === undefined || !monitor.active) {
    return open.map((notice) => ({ is: 'dropped', notice }));
  }
  const withoutData = dueWithoutData(state, monitor, moment);
  // In an outage of svc itself, all monitors take this short way.
  if (state.status === 'unknown' && withoutData.length === 0 && open.length === 0) return [];
  const votes = countedVotes(moment, state, monitor);
  const electorate = electorateFor(moment, state, monitor);
  // Failures that do not confirm a status yet (`confirm_after`) are data, although the status is still `unknown`.
  const missing = isBelowHalf(votes.length, sizeOf(electorate)) ? withoutData : [];
  const begun = [...missing, ...dueRegions(state, monitor, votes, moment)]
    .filter(({ region }) => !open.some((notice) => notice.region === region))
    .map((notice) => ({ is: 'begun', notice, votes }) as const);
  const changes = [...open.flatMap((notice) => endOf(notice, state, electorate, votes)), ...begun];
  return changes.length > 0 && moment.isHeld(state.id) ? [] : changes;
}

/** The end of a notice, as a list: empty if it goes on. */
function endOf<N extends MonitorNotice>(
  notice: N,
  { status }: Readonly<MonitorState>,
  electorate: RegionSet,
  votes: readonly Vote[],
): NoticeChange<N>[] {
  const { region } = notice;
  if (region === null) return status === 'unknown' ? [] : [{ is: 'over', notice, votes }];
  if (status === 'error' || status === 'degraded') return [{ is: 'dropped', notice }];
  if (!hasRegion(electorate, region)) return [{ is: 'dropped', notice }];
  // A region that has stopped reporting has no vote, so its notice goes on.
  const isOver = votes.some((vote) => vote.region === region && vote.outcome !== 'failed');
  return isOver ? [{ is: 'over', notice, votes }] : [];
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

/**
 * The notice about missing data, if it is due. There is none until svc has worked for as long as a vote of the
 * monitor counts, so that data has had time to arrive after an outage of svc itself.
 */
function dueWithoutData(
  { id: monitorId, status, since: unknownSince }: Readonly<MonitorState>,
  monitor: LiveMonitor,
  { slotNow, workingSince }: NoticeMoment,
): MonitorNotice[] {
  if (status !== 'unknown') return [];
  const { workspaceId, periodMs, longestCheckMs } = monitor;
  const since = Math.max(unknownSince, monitor.activatedAt);
  if (slotNow - since <= noDataAfterMs(monitor)) return [];
  if (slotNow - workingSince(workspaceId) < freshForMs(periodMs, longestCheckMs)) return [];
  return [{ monitorId, region: null, since }];
}
