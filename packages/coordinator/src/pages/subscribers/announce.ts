import { insertAnnouncement } from '../../store/incidents/page-announcements.ts';
import type { Transaction } from '../../store/store.ts';
import type { Announcement } from './announcement.ts';

/** Age from which nobody gets a mail about what happened, ms. */
export const LATE_MS = 24 * 3_600_000;

/** Something to tell the subscribers of a page. */
type PageAnnouncement = {
  /** Different for different announcements: the same one is told once. */
  readonly uid: string;
  readonly pageId: number;
  readonly announcement: Announcement;
};

/** Stores an announcement; `PageNews` queues its mails. @param at epoch ms */
export async function announce(
  tx: Transaction,
  { uid, pageId, announcement }: PageAnnouncement,
  at: number,
): Promise<void> {
  await insertAnnouncement(tx, { uid, pageId, content: JSON.stringify(announcement) }, at);
}
