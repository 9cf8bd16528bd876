import type { LiveMonitor, MonitorStatus } from './monitor.ts';

/*
 * A monitor may declare that its status changes only after several slots in a row: `confirm_after` slots
 * for a worse status, `recover_after` slots for a better one. The functions of this file keep the verdicts
 * of the newest slots, and derive the changes of the status from them. With 2 for both attributes:
 *
 *     verdicts of slots         active  error   degraded  error     error  active  active
 *     status after the slot     active  active  degraded  degraded  error  error   active
 *     worse or better in a row          1       2         1         2      1       2
 *
 * Slots in a row that are worse than the status may have different verdicts. The status then becomes
 * the least bad of these verdicts: in the example, `error` and `degraded` make it `degraded`. In the
 * same way, slots in a row that are better than the status make it the worst of their verdicts.
 */

/** The verdict of a slot. A late report may replace it by another verdict of the same slot. */
export type SlotVerdict = {
  /** Epoch ms. */
  readonly slot: number;
  readonly status: Exclude<MonitorStatus, 'unknown'>;
  /** Since when the slot has had this verdict, epoch ms on the slots' clock. */
  readonly at: number;
};

/** The numbers of slots in a row that change the status: with worse verdicts, and with better verdicts. */
export type Confirmation = Pick<LiveMonitor, 'confirmAfter' | 'recoverAfter'>;

/** Whether every verdict changes the status at once, so that no verdicts need be kept. */
export function isConfirmedAtOnce({ confirmAfter, recoverAfter }: Confirmation): boolean {
  return confirmAfter === 1 && recoverAfter === 1;
}

/**
 * Returns the verdicts with another one added. If the added verdict is not about a newer slot than
 * the newest one in the list, it replaces the newest one, and gets the slot of that one.
 *
 * @param verdicts oldest first
 */
export function withVerdict(verdicts: readonly SlotVerdict[], verdict: SlotVerdict): readonly SlotVerdict[] {
  const newest = verdicts.at(-1);
  const isNewer = newest === undefined || verdict.slot > newest.slot;
  if (!isNewer && newest.status === verdict.status) return verdicts;
  const slot = isNewer ? verdict.slot : newest.slot;
  return [...(isNewer ? verdicts : verdicts.slice(0, -1)), { ...verdict, slot }];
}

/**
 * Returns the newest verdicts, as many as {@link confirmedStatus} may need later. Call it only
 * after {@link confirmedStatus} has seen all verdicts. If fewer slots in a row are declared
 * while a row lasts, the change of status may still begin with the first slot of the row.
 */
export function keptVerdicts(
  verdicts: readonly SlotVerdict[],
  { confirmAfter, recoverAfter }: Confirmation,
): readonly SlotVerdict[] {
  const most = Math.max(confirmAfter, recoverAfter);
  return verdicts.length <= most ? verdicts : verdicts.slice(-most);
}

export type ConfirmedStatus = {
  readonly status: SlotVerdict['status'];
  /**
   * The first verdict of the row of slots that changes the status. Each slot of the row has the new
   * status, or one that is further from the former status. Null: the newest slot alone decided.
   */
  readonly first: SlotVerdict | null;
};

const RANK = { active: 0, degraded: 1, error: 2 } as const;

/**
 * The status that follows from the verdicts. Null: the status stays, because the newest slot
 * has another verdict than the status, but too few slots in a row are worse or better.
 *
 * The status `unknown` counts as `error` if an incident is open, otherwise as `active`.
 * The newest verdict ends `unknown` at once, unless it opens or closes an incident.
 *
 * @param verdicts oldest first, at least one
 * @param standing the status until now
 * @param isIncidentOpen whether an incident of the monitor is open
 */
export function confirmedStatus(
  verdicts: readonly SlotVerdict[],
  standing: MonitorStatus,
  isIncidentOpen: boolean,
  { confirmAfter, recoverAfter }: Confirmation,
): ConfirmedStatus | null {
  const newest = verdicts.at(-1) as SlotVerdict;
  const atOnce = { status: newest.status, first: null };
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
  const { status } = row
    .slice(-needed)
    .reduce((one, other) => (RANK[other.status] > RANK[one.status] === isWorse ? one : other));
  const isLess = (each: SlotVerdict) =>
    each.status !== status && RANK[each.status] > RANK[status] !== isWorse;
  const first = row[row.findLastIndex(isLess) + 1] ?? newest;
  return { status, first };
}
