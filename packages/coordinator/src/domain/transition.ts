import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { MonitorStatus } from './monitor.ts';
import type { VerdictReason } from './status.ts';

/** Why a monitor's status is what it is: the verdict's reason, or what ended its votes. */
export type TransitionReason =
  | VerdictReason
  /** Ageing left votes from fewer than half of the electorate. */
  | 'votes-expired'
  /** What is probed was changed: earlier votes are about something else. */
  | 'probe-changed'
  | 'deactivated';

/** What a link remembers of its channel: the last status it was told; `active` at birth. */
export type Announced = 'active' | 'degraded' | 'error';

/** What a new status does to the monitor's incident, which runs from the first error or degraded to the recovery. */
export type IncidentChange = 'open' | 'close' | 'keep';

export function incidentChange(isOpen: boolean, status: MonitorStatus): IncidentChange {
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
 * What a channel is told about `status` after it was last told `announced`; null: nothing. `unknown` is
 * never announced and never clears what was.
 */
export function announcement(announced: Announced, status: MonitorStatus): AlertStatus | null {
  if (status === 'unknown' || status === announced) return null;
  return status === 'active' ? 'recovered' : status;
}
