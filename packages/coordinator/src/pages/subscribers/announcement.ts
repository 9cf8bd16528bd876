import { z } from 'zod';

/** What the subscribers of a page are told, as it is stored until their mails are queued. Instants are epoch ms. */
export const announcement = z.discriminatedUnion('kind', [
  /** Components have other statuses than subscribers were told last. */
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
    /** A key of the page texts' `noteState`. */
    state: z.string(),
    text: z.string(),
    /** Names of the affected components. */
    components: z.array(z.string()),
  }),
]);

export type Announcement = z.infer<typeof announcement>;
