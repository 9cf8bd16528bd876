import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';

type Said = Exclude<MonitorStatus, 'unknown'>;
/** Instants of the slots' clock between which a thing was so for the first time, epoch ms. */
export type Span = { readonly from: number; readonly until: number };
type Decided = { readonly slot: number; readonly says: Said; readonly since: Span };

const BADNESS: Readonly<Record<Said, number>> = { active: 0, degraded: 1, error: 2 };

/**
 * "`confirm_after`: so many decided slots in a row must say `error` (or `degraded`) before the status changes;
 * `recover_after` likewise for the way back. Slots of `unknown` neither count nor end the row. The incident's begin is the
 * first slot of the row."
 *
 * "Slots that are worse than the status, and differ, make it the least bad that they say", and likewise for the way back.
 */
export class Confirmation {
  #slots: Decided[] = [];
  /** Slots that must follow before those of the service are known again. */
  #inDoubt = 0;

  get isDoubted(): boolean {
    return this.#inDoubt > 0;
  }

  /** What was said so far was about something else. */
  end(): void {
    this.#slots = [];
    this.#inDoubt = 0;
  }

  /** "Slots after `newest` are set aside", and what lies ahead of the present was said by now. */
  restarted(newest: number, now: number): void {
    this.#slots = this.#slots
      .filter(({ slot }) => slot <= newest)
      .map((each) => ({
        ...each,
        since: { from: Math.min(each.since.from, now), until: Math.min(each.since.until, now) },
      }));
  }

  /** @param slot null: it is what the newest slot says from now on, as with every late report about an older one */
  said(
    says: Said,
    slot: number | null,
    since: Span,
    { confirmAfter, recoverAfter }: LiveMonitor,
    isDoubted: boolean,
  ): void {
    const most = Math.max(confirmAfter, recoverAfter);
    if (most === 1) {
      this.end();
      return;
    }
    const newest = this.#slots.at(-1);
    const isNewer = newest === undefined || (slot ?? 0) > newest.slot;
    if (isDoubted) this.#inDoubt = most;
    else if (isNewer) this.#inDoubt = Math.max(0, this.#inDoubt - 1);
    if (newest !== undefined && !isNewer) {
      this.#slots.pop();
      this.#slots.push(newest.says === says ? newest : { slot: newest.slot, says, since });
    } else {
      this.#slots.push({ slot: slot ?? 0, says, since });
    }
  }

  /** What is not known of the status makes the row unknown too. */
  doubt({ confirmAfter, recoverAfter }: LiveMonitor): void {
    const most = Math.max(confirmAfter, recoverAfter);
    this.#inDoubt = most === 1 ? 0 : most;
  }

  /**
   * The status that follows, and when the row began that made it; null: one slot was enough. A row that is long enough
   * only by the number of slots that is declared since began with its first slot all the same.
   *
   * @param isOpen whether an incident is open: after `unknown`, that decides whether a slot is a part of a row
   */
  after(
    says: Said,
    standing: MonitorStatus,
    isOpen: boolean,
    monitor: LiveMonitor,
  ): { status: MonitorStatus; begin: Span | null } {
    const after = this.#rowAfter(says, standing, isOpen, monitor);
    this.#slots = this.#slots.slice(-Math.max(monitor.confirmAfter, monitor.recoverAfter));
    return after;
  }

  #rowAfter(
    says: Said,
    standing: MonitorStatus,
    isOpen: boolean,
    { confirmAfter, recoverAfter }: LiveMonitor,
  ): { status: MonitorStatus; begin: Span | null } {
    const isTrouble = says !== 'active';
    if (says === standing) return { status: says, begin: null };
    if (standing === 'unknown' && isTrouble === isOpen) return { status: says, begin: null };
    const from = standing === 'unknown' ? (isOpen ? BADNESS.error : BADNESS.active) : BADNESS[standing];
    const isWorse = BADNESS[says] > from;
    const needed = isWorse ? confirmAfter : recoverAfter;
    if (needed === 1) return { status: says, begin: null };
    const row: Decided[] = [];
    for (const each of [...this.#slots].reverse()) {
      const by = BADNESS[each.says] - from;
      if (isWorse ? by <= 0 : by >= 0) break;
      row.unshift(each);
    }
    if (row.length < needed) return { status: standing, begin: null };
    const far = row.slice(-needed).map((each) => BADNESS[each.says]);
    const badness = isWorse ? Math.min(...far) : Math.max(...far);
    const status = (['active', 'degraded', 'error'] as const)[badness] ?? says;
    return { status, begin: row[0]?.since ?? null };
  }
}
