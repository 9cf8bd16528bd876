import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { checkKind } from '../messages/check.ts';
import { OUTCOMES } from '../messages/check-result.ts';

export const ALERT_STATUSES = ['error', 'degraded', 'recovered'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Why an incident was closed without a recovery. Only channels to incident tools receive such a closure. */
const CLOSURES = ['monitor-deleted', 'monitor-deactivated', 'channel-unlinked'] as const;
export type Closure = (typeof CLOSURES)[number];

/**
 * Members of a message that groups the alerts of many monitors for people. The other members of the alert
 * come from the newest change with the worst status; a group of notices alone has those of a notice.
 * Either all alerts are reminders, or none.
 */
const group = z.object({
  /** Numbers of monitors, by the newest status of each monitor. */
  counts: z.object({
    error: z.number().int(),
    degraded: z.number().int(),
    recovered: z.number().int(),
    /** Number of notices, which are about no status; absent: none. */
    notices: z.number().int().optional(),
  }),
  /** The monitors, the worst first and then in the order of their alerts, notices last; at most 100 of them. */
  monitors: z.array(
    z.object({
      id: z.number().int(),
      name: z.string(),
      status: z.enum(ALERT_STATUSES),
      errorMessage: z.string().optional(),
      /** Title of the notice about the monitor; absent: the alert is about its status. */
      notice: z.string().optional(),
      /** How long the incident has lasted, ms; absent: the alert is no reminder. */
      lastsMs: z.number().optional(),
    }),
  ),
  /** What all alerts of the group share. `host` is present only where the addresses differ. */
  shared: z.object({
    host: z.string().optional(),
    address: z.string().optional(),
    errorMessage: z.string().optional(),
  }),
});

/**
 * A mail of a status page to one of its visitors. All texts are final, and in the language of the visitor;
 * the alert's `monitor.url` is the address of the button.
 */
const pageMail = z.object({
  /** Name of the sender: the title of the page. */
  sender: z.string(),
  subject: z.string(),
  /** Paragraphs of the mail. */
  lines: z.array(z.string()),
  /** Text of the button. */
  button: z.string(),
  /** Small print: why the mail came. */
  footer: z.string(),
  /** The link that ends the subscription; absent: this mail belongs to no subscription. */
  unsubscribe: z.object({ text: z.string(), url: z.string() }).optional(),
  /** When the link of the button expires, epoch ms. The mail is not sent after that. */
  expiresAt: z.number().int().optional(),
});
export type PageMail = z.infer<typeof pageMail>;

/**
 * Everything that a channel is given for one message, which usually is about one change of status. It is a
 * snapshot that is stored with the delivery, so that the alert can be sent after the monitor is deleted.
 * `statusCode`, `latency` and `errorMessage` of a change of status come from the newest vote that supports
 * the verdict, those of a closure from the newest vote. Each is present when it applies.
 */
export const alert = z.object({
  monitor: z.object({
    id: z.number().int(),
    name: z.string(),
    url: z.string(),
    type: checkKind,
  }),
  status: z.enum(ALERT_STATUSES),
  /** Slot of the check, epoch ms. */
  cronTimestamp: z.number().int(),
  statusCode: z.number().int().optional(),
  /** Latency of the check, ms. */
  latency: z.number().optional(),
  errorMessage: z.string().max(LIMITS.errorMessage).optional(),
  /** Latency above which the monitor is degraded, ms; absent: no latency makes it degraded. */
  degradedAt: z.number().optional(),
  /** When the status changed, or the incident was closed without a recovery, epoch ms. */
  at: z.number().int(),
  /** When the incident began, epoch ms; absent when that is not known. */
  since: z.number().int().optional(),
  /** The named reason of the verdict; of a closure, the same text as `closure`. */
  reason: z.string(),
  /**
   * Key of the incident: the same for every alert from the first error or degraded to the recovery, and
   * unique across installations.
   */
  incident: z.string(),
  /**
   * The votes that counted: each region with its outcome, and the slot of that outcome (epoch ms; absent: not
   * known). `text` is what people see of the region. It is present only in an attempt to send, and is never
   * stored.
   */
  regions: z.array(
    z.object({
      region: z.string(),
      text: z.string().optional(),
      outcome: z.enum(OUTCOMES),
      slot: z.number().int().optional(),
    }),
  ),
  /** Why this alert closes an incident that did not recover; absent in every other alert. */
  closure: z.enum(CLOSURES).optional(),
  /**
   * Present when the alert repeats an earlier one, because the incident is still open and not acknowledged:
   * the number of the reminder, from 1, and how long the incident has lasted, ms.
   */
  reminder: z.object({ number: z.number().int(), lastsMs: z.number() }).optional(),
  /** Whether this is a test that a person sent. A test belongs to no incident. */
  test: z.boolean().optional(),
  /**
   * How late the alert is sent, ms. It is present only in an attempt to
   * send an alert that is at least a minute late, and is never stored.
   */
  delayedMs: z.number().optional(),
  /**
   * The text of a notice; absent in every other alert. A notice of svc about itself has `lines`, and its
   * monitor has id 0, which no real monitor has. A notice about a monitor has `facts` too, and `isOver` where it
   * says the end of what an earlier notice said. The alert's `status` is then the present one of the monitor.
   */
  notice: z
    .object({
      title: z.string(),
      lines: z.array(z.string()),
      facts: z.array(z.object({ label: z.string(), text: z.string() })).optional(),
      isOver: z.boolean().optional(),
    })
    .optional(),
  group: group.optional(),
  /**
   * The whole text of a mail to a visitor of a status page; absent in every other alert. The monitor of such
   * an alert has id 0, which no real monitor has.
   */
  letter: pageMail.optional(),
});
export type Alert = z.infer<typeof alert>;
