import { z } from 'zod';

/** What the subscribers of a page are told, as it is stored until their mails are queued. Instants are epoch ms. */
export const announcement = z.discriminatedUnion('kind', [
  /** Components have other statuses than subscribers were told last. */
  z.object({
    kind: z.literal('changes'),
    at: z.number().int(),
    changes: z.array(z.object({ name: z.string(), status: z.enum(['active', 'degraded', 'error']) })).min(1),
  }),
  /** An operator published something: an update of an incident, or of a maintenance. */
  z.object({
    kind: z.literal('update'),
    at: z.number().int(),
    title: z.string(),
    /** A key of the page texts' `noteState` or `maintenanceState`. */
    state: z.string(),
    text: z.string(),
    /** Names of the affected components. */
    components: z.array(z.string()),
  }),
]);

export type Announcement = z.infer<typeof announcement>;
