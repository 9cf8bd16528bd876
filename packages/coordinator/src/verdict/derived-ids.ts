import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { derivedUuid } from '@svc/shared/ids.ts';
import type { Secret } from '@svc/shared/secret.ts';

/** The values that identify an alert. Its id is derived from them. */
export type AlertIdentity = {
  readonly monitorId: number;
  readonly notificationId: number;
  /** The link's `Link.version`. */
  readonly linkVersion: number;
  /** Key of the incident. */
  readonly incident: string;
  readonly status: AlertStatus;
  /** The monitor's `MonitorState.statusSlot`; 0: the alert ends an incident without a recovery. */
  readonly statusSlot: number;
};

/**
 * Derives the ids of alerts and other messages, and the keys of incidents. An id depends only on what the
 * message is about, so a message keeps its id however often the id is derived: after a crash, or in a
 * database that lost its last commits.
 *
 * The derivation uses a secret key of the installation. So two installations never derive the same id, and an
 * outsider cannot compute the id of a future alert. An outsider who knew the id could send it to a receiver first,
 * and the receiver would drop the alert as a repetition.
 */
export class DerivedIds {
  readonly #installation: string;
  readonly #key: Secret<Uint8Array>;

  /** @param installation id of the installation, 16 hexadecimal digits */
  constructor(installation: string, key: Secret<Uint8Array>) {
    this.#installation = installation;
    this.#key = key;
  }

  /**
   * The key of the incident that begins with this change of status, at most 70 characters:
   * `<installation>:<monitor>:<uuid>`.
   */
  incidentKey(monitorId: number, statusSlot: number): string {
    return `${this.#installation}:${monitorId}:${this.#derive('incident', monitorId, statusSlot)}`;
  }

  /** The id of an alert. */
  alertId({ monitorId, notificationId, linkVersion, incident, status, statusSlot }: AlertIdentity): string {
    return this.#derive('alert', monitorId, notificationId, linkVersion, incident, status, statusSlot);
  }

  /** The id of a reminder of an incident. `number`: 1 for the first one over this link. */
  reminderId(alert: Omit<AlertIdentity, 'status' | 'statusSlot'>, number: number): string {
    const { monitorId, notificationId, linkVersion, incident } = alert;
    return this.#derive('reminder', monitorId, notificationId, linkVersion, incident, number);
  }

  /** The id of the notice that svc sends to one channel about an event. */
  noticeId(event: string, notificationId: number): string {
    return this.#derive('notice', event, notificationId);
  }

  /**
   * The key that all messages of a notice about a monitor share.
   * It has at most 70 characters, like the key of an incident.
   */
  noticeKey(monitorId: number, region: string | null, since: number): string {
    return `${this.#installation}:${monitorId}:${this.#derive('monitor-notice', monitorId, region ?? '', since)}`;
  }

  /** The id of the mail that sends one announcement of a status page to one subscriber. */
  newsId(announcementUid: string, recipientId: number): string {
    return this.#derive('news', announcementUid, recipientId);
  }

  #derive(kind: string, ...parts: readonly (string | number)[]): string {
    return derivedUuid([kind, ...parts], this.#key.reveal());
  }
}
