import type { Alert } from '@svc/shared/channels/alert.ts';
import { derivedUuid } from '@svc/shared/ids.ts';
import {
  channelNamed,
  insertDeliveries,
  type NewlyQueued,
  otherChannels,
  queueDeliveries,
} from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Transaction } from '../store/store.ts';
import { HUMAN_KINDS } from './registry.ts';

/** Most channels that are told of another one. */
const MOST_TOLD = 20;

/** The monitor of deliveries that are about no monitor. */
export const NO_MONITOR = 0;

/** A message to people about a channel. */
export type Notice = {
  /** The channel that it is about. */
  readonly notificationId: number;
  /** Different for different events: the same event is told once. */
  readonly event: string;
  readonly text: (channel: { readonly name: string }) => { readonly title: string; readonly lines: string[] };
  /** Epoch ms. */
  readonly at: number;
};

/**
 * Queues the message for the channels that people read of the channel's workspace, itself left out: the first
 * 20, those that work before others. `onQueued` is called for each after the commit.
 */
export async function queueNotice(
  tx: Transaction,
  { secrets, publicUrl, onQueued }: NoticeParts,
  notice: Notice,
): Promise<void> {
  const { notificationId, event, at } = notice;
  const channel = await channelNamed(tx, notificationId);
  if (channel === null) return;
  const told = await otherChannels(tx, notificationId, HUMAN_KINDS, MOST_TOLD);
  if (told.length === 0) return;
  const alert = noticeAlert(notice.text(channel), `notice-${event}`, at, publicUrl);
  const queued = told.map((id) => ({
    // The same event is queued once, also over restarts.
    uid: derivedUuid(`${event} ${id}`),
    notificationId: id,
    monitorId: NO_MONITOR,
    alert,
    queuedAt: at,
  }));
  await queueDeliveries(tx, { secrets, insert: insertDeliveries, onQueued }, queued);
}

export type NoticeParts = {
  readonly secrets: Secrets;
  /** Address that the message shows. */
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
