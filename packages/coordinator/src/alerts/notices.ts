import type { Alert } from '@svc/shared/channels/alert.ts';
import { insertDeliveries, type NewlyQueued, queueDeliveries } from '../store/alerts/delivery-queue.ts';
import { channelNamed, otherChannels } from '../store/declaration/channels.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Transaction } from '../store/store.ts';
import type { DerivedIds } from '../verdict/derived-ids.ts';
import { HUMAN_KINDS } from './registry.ts';

/** Maximum number of channels that get a message about another channel. */
const MAX_RECEIVERS = 20;

/** Tests, and messages of svc about itself, have this id in place of a monitor's id. */
export const NO_MONITOR = 0;

/** A message to people about channels of one workspace. */
export type Notice = {
  /** The channel that the message is about, or the first of them. */
  readonly notificationId: number;
  /** Text that is unique to the event. Each receiver gets only one message about an event. */
  readonly event: string;
  readonly text: (channel: { readonly name: string }) => { readonly title: string; readonly lines: string[] };
  /** Time of the event, epoch ms. */
  readonly at: number;
};

/**
 * Queues the message for at most 20 other channels of the workspace, all of kinds whose messages people
 * read. Stopped channels get no message, and channels that work come before failing ones. Queues nothing if
 * the channel was removed. `onQueued` is called for each queued message after the commit.
 */
export async function queueNotice(
  tx: Transaction,
  { secrets, ids, publicUrl, onQueued }: NoticeParts,
  notice: Notice,
): Promise<void> {
  const { notificationId, event, at } = notice;
  const channel = await channelNamed(tx, notificationId);
  if (channel === null) return;
  const receivers = await otherChannels(tx, notificationId, HUMAN_KINDS, MAX_RECEIVERS);
  if (receivers.length === 0) return;
  const alert = noticeAlert(notice.text(channel), `notice-${event}`, at, publicUrl);
  const queued = receivers.map((id) => ({
    // The uid is the same after a restart, so that the message is queued once.
    uid: ids.noticeId(event, id),
    notificationId: id,
    monitorId: NO_MONITOR,
    alert,
    queuedAt: at,
  }));
  await queueDeliveries(tx, { secrets, insert: insertDeliveries, onQueued }, queued);
}

export type NoticeParts = {
  readonly secrets: Secrets;
  readonly ids: Pick<DerivedIds, 'noticeId'>;
  /** Public URL of svc, for links in the message. */
  readonly publicUrl: string;
  readonly onQueued: (queued: NewlyQueued) => void;
};

function noticeAlert(
  notice: { readonly title: string; readonly lines: string[] },
  incident: string,
  at: number,
  publicUrl: string,
): Alert {
  return {
    monitor: { id: NO_MONITOR, name: notice.title, url: publicUrl, type: 'http' },
    status: 'error',
    cronTimestamp: Math.floor(at),
    errorMessage: notice.lines.join(' ').slice(0, 500),
    at: Math.floor(at),
    reason: 'notice',
    incident,
    regions: [],
    notice,
  };
}
