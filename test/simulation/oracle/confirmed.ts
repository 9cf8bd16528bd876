import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now, Told } from '../told.ts';
import type { Picture } from './picture.ts';
import { isFresh, isQuorum, SET_ASIDE_MS, votableMs } from './rule.ts';

/** "Within 1 s of the report that makes it certain." */
export const IN_TIME_MS = 1_000;

/**
 * Checks that confirmed outages are announced. "A majority's failure about one slot is announced
 * within 1 s of the report that makes it certain, whatever the period, time-out and retries,
 * unless one of its regions has since voted otherwise." The check uses reports alone, and does
 * not know which slots are open or decided. In place of the majority, it takes the quorum of the
 * monitor. Monitors whose errors need several slots in a row are not checked here.
 */
export class ConfirmedOutages {
  /**
   * Number of outages that a quorum confirmed while no `error` was announced.
   * `unannounced`: number of them that were not announced in time.
   */
  confirmed = 0;
  unannounced = 0;
  /** The regions that reported a failure, by slot. */
  readonly #failed = new Map<number, Set<Region>>();
  /**
   * For each region, the newest slot about which it reported another outcome than `failed`, or which it reported while
   * several slots in a row were needed. A change of their number counts from the next slot on.
   */
  readonly #otherwise = new Map<Region, number>();
  /** The slot whose failures wait for their announcement, and since when, monotonic ms; null: none waits. */
  #waiting: { slot: number; since: number } | null = null;

  /**
   * Handles a recorded report: the first outcome of its region about its slot.
   *
   * @param isJudging whether the service must announce an outage that this report confirms.
   *   It need not during a start, but a pass that is reported during a start counts
   */
  reported(
    { region, result }: Told & { is: 'reported' },
    picture: Picture,
    status: MonitorStatus,
    now: Now,
    { isJudging }: { readonly isJudging: boolean },
  ): void {
    const { monitor } = picture;
    const { slot, outcome, version } = result;
    if (monitor === null || !monitor.active || version !== monitor.version || outcome === 'not_run') return;
    // If several slots in a row must confirm a status, only the violation `late` applies.
    if (outcome !== 'failed' || monitor.confirmAfter > 1) {
      this.#otherwise.set(region, Math.max(slot, this.#otherwise.get(region) ?? 0));
      return;
    }
    if (!isJudging) return;
    if (slot <= picture.endedSlot || slot > now.slot + SET_ASIDE_MS) return;
    if (slot < now.slot - votableMs(monitor.periodMs, monitor.longestCheckMs)) return;
    let failed = this.#failed.get(slot);
    if (failed === undefined) {
      failed = new Set();
      this.#failed.set(slot, failed);
    }
    failed.add(region);
    if (status === 'error' || this.#waiting !== null || !this.#isMajority(slot, picture, now)) return;
    this.#waiting = { slot, since: now.monotonic };
    this.confirmed += 1;
  }

  /** Forgets the waiting failures, because votes were ended or the service is down. */
  excuse(): void {
    this.#waiting = null;
    this.#failed.clear();
  }

  /**
   * Checks the failures that wait for an announcement.
   *
   * @param status the status that the service shows until now
   * @returns the outage that was not announced in time, in words; null: there is no such outage
   */
  check(status: MonitorStatus, picture: Picture, now: Now): string | null {
    const waiting = this.#waiting;
    if (waiting === null) return null;
    if (status === 'error' || !this.#isMajority(waiting.slot, picture, now)) {
      this.#waiting = null;
      return null;
    }
    if (now.monotonic - waiting.since <= IN_TIME_MS) return null;
    this.#waiting = null;
    this.unannounced += 1;
    return `a majority failed in slot ${waiting.slot}: ${[...(this.#failed.get(waiting.slot) ?? [])].join(', ')}; status ${status}`;
  }

  #isMajority(slot: number, picture: Picture, now: Now): boolean {
    if (picture.isOverdue(slot)) return false;
    const electorate = picture.widestElectorate();
    let failed = 0;
    for (const region of this.#failed.get(slot) ?? []) {
      if (!electorate.has(region) || (this.#otherwise.get(region) ?? 0) > slot) continue;
      // A vote that has aged does not count.
      const vote = picture.votes.get(region);
      if (vote === undefined || isFresh(vote, now.age)) failed += 1;
    }
    const quorum = picture.monitor?.quorum ?? 'majority';
    return isQuorum(failed, electorate.size, { quorum, electorate });
  }
}
