/**
 * Age above which an alert may be left out as old, ms. This applies to kinds of
 * channels that drop old alerts.
 */
export const OLD_MS = 3_600_000;

/** The attributes of the next alert in a channel's queue that decide whether it is still sent. */
export type WaitingAlert = {
  /** Whether it says that an incident, or what a notice said, is over. */
  readonly isEnd: boolean;
  /** Time since the alert was queued, ms. */
  readonly ageMs: number;
  /** Whether a younger alert of the same monitor waits behind this alert. Notices do not count. */
  readonly hasNewer: boolean;
  /** Whether a younger alert of the same incident waits behind this alert. */
  readonly hasNewerOfIncident: boolean;
  /** Whether the receiver has, or may have, an earlier alert of the incident. */
  readonly isAnnounced: boolean;
  /** Whether the incident was announced to the receiver, is still open there, and is not acknowledged. */
  readonly isOpen: boolean;
  /** Whether the alert repeats an earlier one, see `Alert.reminder`. */
  readonly isReminder: boolean;
  /** Whether it is a notice about a monitor, see `Alert.notice`. */
  readonly isNotice: boolean;
  /** Whether a person requested that the alert be sent again. */
  readonly isReplayed: boolean;
};

/** The attributes of the channel's kind, as in `ChannelFacts`. */
export type Folding = {
  readonly closesIncidents: boolean;
  readonly dropsOld: boolean;
  readonly isHuman: boolean;
};

/**
 * Why an alert is left out.
 *
 * - `newer`: the alert is a reminder, or the receiver keeps one state for
 *   each incident, and a newer alert of the incident waits behind the alert.
 * - `old`: the alert waited so long that a newer alert behind it is more useful.
 * - `never-announced`: the alert ends what was never announced to the receiver.
 * - `over`: the alert is a reminder, and the incident is over, acknowledged, or no longer open at this receiver.
 * - `not-human`: the alert is a notice, and the kind of the channel was changed to one that gets no notices.
 */
export type Superseded = 'newer' | 'old' | 'never-announced' | 'over' | 'not-human';

/** Why an alert is left out; null: it is sent. */
export function supersededBy(alert: WaitingAlert, kind: Folding): Superseded | null {
  if (alert.isNotice && !kind.isHuman) return 'not-human';
  if (alert.isReplayed) return null;
  if ((kind.closesIncidents || alert.isReminder) && alert.hasNewerOfIncident) return 'newer';
  if (alert.isReminder && !alert.isOpen) return 'over';
  if (kind.dropsOld && alert.hasNewer && alert.ageMs > OLD_MS) return 'old';
  if (alert.isEnd && !alert.isAnnounced) return 'never-announced';
  return null;
}
