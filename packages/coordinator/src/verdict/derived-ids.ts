import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { derivedUuid } from '@svc/shared/ids.ts';
import type { Secret } from '@svc/shared/secret.ts';

/** An alert, by what it is about. */
export type AlertIdentity = {
  readonly monitorId: number;
  readonly notificationId: number;
  /** `Link.version`. */
  readonly linkVersion: number;
  /** Key of the incident. */
  readonly incident: string;
  readonly status: AlertStatus;
  /** `MonitorState.statusSlot`. */
  readonly statusSlot: number;
};

/**
 * Ids of what receivers get. They follow from what they are about, so that one thing keeps one id however
 * often it is derived: after a crash, or in a database that lost its last commits.
 *
 * The key belongs to the installation and is secret. Two installations never give one id to two things, and
 * nobody can compute the id of an alert to come. A receiver would drop that alert as a repetition, if somebody
 * sent it the id before.
 */
export class DerivedIds {
  readonly #installation: string;
  readonly #key: Secret<Uint8Array>;

  /** @param installation 16 hexadecimal digits */
  constructor(installation: string, key: Secret<Uint8Array>) {
    this.#installation = installation;
    this.#key = key;
  }

  /**
   * The key of the incident that begins with this change of status: `<installation>:<monitor>:<uuid>`, at most
   * 70 characters.
   */
  incidentKey(monitorId: number, statusSlot: number): string {
    return `${this.#installation}:${monitorId}:${this.#derive('incident', monitorId, statusSlot)}`;
  }

  /** The id of an alert. */
  alertId({ monitorId, notificationId, linkVersion, incident, status, statusSlot }: AlertIdentity): string {
    return this.#derive('alert', monitorId, notificationId, linkVersion, incident, status, statusSlot);
  }

  /** The id of a message of svc about an event, to one channel. */
  noticeId(event: string, notificationId: number): string {
    return this.#derive('notice', event, notificationId);
  }

  /** The id of the mail with an announcement of a status page, to one subscriber. */
  newsId(announcementUid: string, recipientId: number): string {
    return this.#derive('news', announcementUid, recipientId);
  }

  #derive(kind: string, ...parts: readonly (string | number)[]): string {
    return derivedUuid([kind, ...parts], this.#key.reveal());
  }
}
