import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';

type Said = Exclude<MonitorStatus, 'unknown'>;
/** Bounds on the instant at which something began, epoch ms on the slots' clock. */
export type Span = { readonly from: number; readonly until: number };
type Decided = { readonly slot: number; readonly says: Said; readonly since: Span };

const BADNESS: Readonly<Record<Said, number>> = { active: 0, degraded: 1, error: 2 };

/**
 * "`confirm_after`: so many decided slots in a row must say `error` (or `degraded`) before
 * the status changes; `recover_after` likewise for the way back. Slots of `unknown`
 * neither count nor end the row. The incident's begin is the first slot of the row."
 *
 * "Slots that are worse than the status, and differ, make it
 * the least bad that they say", and likewise for the way back.
 */
export class Confirmation {
  #slots: Decided[] = [];
  /**
   * Number of slots that must still follow until the slots of the service are known again; 0: they are known.
   */
  #inDoubt = 0;

  get isDoubted(): boolean {
    return this.#inDoubt > 0;
  }

  /** Forgets all slots, because they were about another check. */
  end(): void {
    this.#slots = [];
    this.#inDoubt = 0;
  }

  /**
   * Handles a start: "slots after `newest` are set aside".
   * A verdict that is dated after `now` is dated at `now`.
   */
  restarted(newest: number, now: number): void {
    this.#slots = this.#slots
      .filter(({ slot }) => slot <= newest)
      .map((each) => ({
        ...each,
        since: { from: Math.min(each.since.from, now), until: Math.min(each.since.until, now) },
      }));
  }

  /**
   * Adds the verdict of a slot.
   *
   * @param slot null, or an older slot than the newest one: the newest slot has this verdict from now on
   * @param since when the slot first had this verdict
   * @param isDoubted whether the votes are in doubt
   */
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

  /** Marks the row of slots as unknown, because the votes are in doubt. */
  doubt({ confirmAfter, recoverAfter }: LiveMonitor): void {
    const most = Math.max(confirmAfter, recoverAfter);
    this.#inDoubt = most === 1 ? 0 : most;
  }

  /**
   * Returns the status that follows from the slots, and when the row began
   * that made it; null: one slot was enough. A row begins after the last slot that
   * says less than the status, and may have more slots than are needed.
   *
   * @param isOpen whether an incident is open. After `unknown`,
   *   this decides whether a slot is a part of a row
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

  /** Whether the slots keep the status `standing`, if the newest of them says `says`. */
  keeps(standing: MonitorStatus, says: Said, isOpen: boolean, monitor: LiveMonitor): boolean {
    return this.#rowAfter(says, standing, isOpen, monitor).status === standing;
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
    const isLess = ({ says }: Decided) => (isWorse ? BADNESS[says] < badness : BADNESS[says] > badness);
    return { status, begin: row[row.findLastIndex(isLess) + 1]?.since ?? null };
  }
}
