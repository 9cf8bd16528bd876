import type { LiveMonitor, MonitorStatus } from './monitor.ts';

/*
 * A monitor may declare that its status changes only after several slots in a row: `confirm_after` slots for a
 * worse status, `recover_after` slots for a better one. The functions of this file keep the verdicts of the newest slots,
 * and turn them into a change of the status.
 *
 *     slots say        active  error   degraded  error   error    active   active
 *     confirm_after 2  active  active  degraded  degraded error    error    active   (recover_after 2)
 *                              1       2         1       2        1        2
 *
 * Slots in a row that are worse than the status need not say the same: the status becomes the least bad that they say.
 * So an error and then a degraded slot are two slots of trouble, and one slot of error.
 */

/** The verdict of a slot. A later verdict about the same slot, which a late report makes, replaces it. */
export type SlotVerdict = {
  /** Epoch ms. */
  readonly slot: number;
  readonly status: Exclude<MonitorStatus, 'unknown'>;
  /** When the slot first had this verdict, epoch ms on the slots' clock. */
  readonly at: number;
};

/** How many slots in a row must say a worse or better status before the status changes. */
export type Confirmation = Pick<LiveMonitor, 'confirmAfter' | 'recoverAfter'>;

/** Whether every verdict changes the status at once, so that no verdicts need be kept. */
export function isConfirmedAtOnce({ confirmAfter, recoverAfter }: Confirmation): boolean {
  return confirmAfter === 1 && recoverAfter === 1;
}

/**
 * The newest verdicts after another one, as many as {@link confirmedStatus} may need. A slot that is not newer than
 * the newest is none of its own: the verdict is what the newest slot says from now on.
 *
 * @param verdicts oldest first
 */
export function withVerdict(
  verdicts: readonly SlotVerdict[],
  verdict: SlotVerdict,
  { confirmAfter, recoverAfter }: Confirmation,
): readonly SlotVerdict[] {
  const newest = verdicts.at(-1);
  const isNewer = newest === undefined || verdict.slot > newest.slot;
  if (!isNewer && newest.status === verdict.status) return verdicts;
  const slot = isNewer ? verdict.slot : newest.slot;
  return [...(isNewer ? verdicts : verdicts.slice(0, -1)), { ...verdict, slot }].slice(
    -Math.max(confirmAfter, recoverAfter),
  );
}

export type ConfirmedStatus = {
  readonly status: SlotVerdict['status'];
  /** When the first of the slots in a row had its verdict, epoch ms. Null: one slot is enough, the newest. */
  readonly begin: number | null;
};

const RANK = { active: 0, degraded: 1, error: 2 } as const;

/**
 * The status after `verdicts` (oldest first, at least one). Null: it stays, because the newest slot says another
 * status, and too few slots before it do.
 *
 * The status `unknown` counts as `active` without an open incident, and as `error` with one: what the newest slot
 * says is the status at once, unless it begins or ends an incident.
 *
 * @param standing       the status until now
 * @param isIncidentOpen whether an incident of the monitor is open
 */
export function confirmedStatus(
  verdicts: readonly SlotVerdict[],
  standing: MonitorStatus,
  isIncidentOpen: boolean,
  { confirmAfter, recoverAfter }: Confirmation,
): ConfirmedStatus | null {
  const newest = verdicts.at(-1) as SlotVerdict;
  const atOnce = { status: newest.status, begin: null };
  const isSideKept = isIncidentOpen === (newest.status !== 'active');
  if (newest.status === standing || (standing === 'unknown' && isSideKept)) return atOnce;
  const before = standing !== 'unknown' ? standing : isIncidentOpen ? 'error' : 'active';
  const isWorse = RANK[newest.status] > RANK[before];
  const needed = isWorse ? confirmAfter : recoverAfter;
  if (needed === 1) return atOnce;
  const isOtherwise = ({ status }: SlotVerdict) =>
    status === before || RANK[status] > RANK[before] !== isWorse;
  const row = verdicts.slice(verdicts.findLastIndex(isOtherwise) + 1);
  if (row.length < needed) return null;
  const nearest = row
    .slice(-needed)
    .reduce((one, other) => (RANK[other.status] > RANK[one.status] === isWorse ? one : other));
  return { status: nearest.status, begin: row[0]?.at ?? newest.at };
}
