import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { MonitorStatus } from './monitor.ts';
import type { VerdictReason } from './status.ts';

/** Why a monitor has its status: the verdict's reason, or the event that ended its votes. */
export type TransitionReason =
  | VerdictReason
  /**
   * The newest slot has another verdict than the status, and too few slots in a row are worse
   * or better (`confirm_after`, `recover_after`): the status stays. Or the slots in a row have
   * different verdicts: the status becomes the one of these verdicts that is nearest to it.
   */
  | 'unconfirmed'
  /** Votes have expired, and fewer than half of the electorate have a vote. */
  | 'votes-expired'
  /** The probed attributes changed, so earlier votes are about a different check. */
  | 'probe-changed'
  | 'deactivated';

/**
 * The last status that was announced to a channel. The channel's link to the monitor stores it. It is `active` at
 * first, and after an incident that ended without a recovery.
 */
export type Announced = 'active' | 'degraded' | 'error';

/**
 * The effect of a new status on the monitor's incident, which runs from the first error or degraded to the
 * recovery.
 */
export type IncidentEffect = 'open' | 'close' | 'keep';

export function incidentEffect(isOpen: boolean, status: MonitorStatus): IncidentEffect {
  switch (status) {
    case 'error':
    case 'degraded':
      return isOpen ? 'keep' : 'open';
    case 'active':
      return isOpen ? 'close' : 'keep';
    case 'unknown':
      return 'keep';
  }
}

/**
 * The alert for a channel about `status`, when `announced` is the last status that was announced to it; null:
 * no alert. `unknown` is never announced and never clears an announcement.
 */
export function announcement(announced: Announced, status: MonitorStatus): AlertStatus | null {
  if (status === 'unknown' || status === announced) return null;
  return status === 'active' ? 'recovered' : status;
}
