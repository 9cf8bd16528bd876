import type { AlertStatus } from '@svc/shared/channels/alert.ts';

/** Age from which an alert of a kind that drops old ones is left out, ms. */
export const OLD_MS = 3_600_000;

/** The facts that decide whether the next alert in line is still sent. */
export type WaitingAlert = {
  readonly status: AlertStatus;
  /** Time since it was queued, ms. */
  readonly ageMs: number;
  /** Whether a younger alert of the same monitor waits behind it. */
  readonly hasNewer: boolean;
  /** Whether a younger alert of the same incident waits behind it. */
  readonly hasNewerOfIncident: boolean;
  /** Whether the receiver has, or may have, an earlier alert of the incident. */
  readonly isAnnounced: boolean;
  /** Whether a person requested it, as a replay. */
  readonly isReplayed: boolean;
};

/** Facts about the kind of the channel: see `ChannelFacts`. */
export type Folding = { readonly closesIncidents: boolean; readonly dropsOld: boolean };

/**
 * - `newer`: the receiver keeps one state for each incident, and a newer alert of the incident is next.
 * - `old`: it waited so long that the alert behind it says more.
 * - `never-announced`: it ends an incident that was never announced to the receiver.
 */
export type Superseded = 'newer' | 'old' | 'never-announced';

/** Why an alert is left out; null: it is sent. */
export function supersededBy(alert: WaitingAlert, kind: Folding): Superseded | null {
  if (alert.isReplayed) return null;
  if (kind.closesIncidents && alert.hasNewerOfIncident) return 'newer';
  if (kind.dropsOld && alert.hasNewer && alert.ageMs > OLD_MS) return 'old';
  if (alert.status === 'recovered' && !alert.isAnnounced) return 'never-announced';
  return null;
}
