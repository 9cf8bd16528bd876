import { z } from 'zod';
import { insertAnnouncement } from '../../store/pages/page-announcements.ts';
import type { Transaction } from '../../store/store.ts';

/** News for the subscribers of a page. It is stored until all its mails are queued. Instants are epoch ms. */
export const announcement = z.discriminatedUnion('kind', [
  /** The statuses of components changed since the last announcement. */
  z.object({
    kind: z.literal('changes'),
    at: z.number().int(),
    changes: z.array(z.object({ name: z.string(), status: z.enum(['active', 'degraded', 'error']) })).min(1),
  }),
  /** A maintenance window was planned, began or ended. */
  z.object({
    kind: z.literal('maintenance'),
    at: z.number().int(),
    title: z.string(),
    text: z.string(),
    stage: z.enum(['scheduled', 'in_progress', 'completed']),
    from: z.number().int(),
    until: z.number().int(),
    /** Names of the affected components. */
    components: z.array(z.string()),
  }),
  /** An operator published an update of an incident. */
  z.object({
    kind: z.literal('update'),
    at: z.number().int(),
    title: z.string(),
    /** A key of `noteState` in the page texts. */
    state: z.string(),
    text: z.string(),
    /** Names of the affected components. */
    components: z.array(z.string()),
  }),
]);

export type Announcement = z.infer<typeof announcement>;

/**
 * Age beyond which an event is not announced, ms. The end of a window is measured by its present age, an
 * update of an incident by its age when it was written. Other events have no such bound.
 */
export const LATE_MS = 24 * 3_600_000;

/** News for the subscribers of one page, before it is stored. */
type PageAnnouncement = {
  /** Identifies the announcement. If an announcement with this uid is stored already, nothing is stored. */
  readonly uid: string;
  readonly pageId: number;
  readonly announcement: Announcement;
};

/**
 * Stores an announcement. `PageNews` queues its mails.
 *
 * @param at epoch ms
 */
export async function storeAnnouncement(
  tx: Transaction,
  { uid, pageId, announcement }: PageAnnouncement,
  at: number,
): Promise<void> {
  await insertAnnouncement(tx, { uid, pageId, content: JSON.stringify(announcement) }, at);
}
