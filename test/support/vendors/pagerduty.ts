import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import { characters, type Vendor, type VendorAnswer, WindowLimit } from './vendor.ts';

/*
 * PagerDuty's Events API v2 (developer.pagerduty.com, read on 2026-11-21).
 */

export type PagerDutyIncident = {
  readonly routingKey: string;
  readonly dedupKey: string;
  /** The summary of the trigger that opened it. */
  readonly summary: string;
  /** Severity of the newest trigger. */
  severity: string;
  /** Triggers since it was opened; only the first one pages. */
  triggers: number;
  state: 'triggered' | 'acknowledged' | 'resolved';
};

const MOST_BYTES = 512 * 1_024;
const PER_MINUTE = 120;

const text = (most: number) => z.string().refine((value) => characters(value) <= most);
const key = { routing_key: z.string(), dedup_key: text(255) };
const link = z.object({ href: z.url(), text: z.string().optional() });

const trigger = z.object({
  ...key,
  dedup_key: key.dedup_key.optional(),
  event_action: z.literal('trigger'),
  payload: z.object({
    summary: text(1_024).min(1),
    source: z.string().min(1),
    severity: z.enum(['critical', 'error', 'warning', 'info']),
    timestamp: z.iso.datetime({ offset: true }).optional(),
    component: z.string().optional(),
    group: z.string().optional(),
    class: z.string().optional(),
    custom_details: z.record(z.string(), z.unknown()).optional(),
  }),
  links: z.array(link).optional(),
  images: z.array(z.object({ src: z.url({ protocol: /^https$/ }) })).optional(),
  client: z.string().optional(),
  client_url: z.string().optional(),
});
const end = z.object({ ...key, event_action: z.enum(['acknowledge', 'resolve']) });
const event = z.discriminatedUnion('event_action', [trigger, end]);

export class PagerDuty implements Vendor {
  readonly incidents: PagerDutyIncident[] = [];
  readonly #keys: ReadonlySet<string>;
  readonly #limits = new Map<string, WindowLimit>();
  readonly #now: () => number;

  /** @param routingKeys the integrations that exist, 32 characters each */
  constructor(routingKeys: readonly string[], now: () => number = () => 0) {
    this.#keys = new Set(routingKeys);
    this.#now = now;
  }

  get open(): PagerDutyIncident[] {
    return this.incidents.filter(({ state }) => state !== 'resolved');
  }

  answer({ method, path, headers, text: body, json }: ReceivedRequest): VendorAnswer {
    if (path !== '/v2/enqueue') return { status: 404 };
    if (method !== 'POST') return { status: 405 };
    if (!/^application\/json\b/.test(headers['content-type'] ?? '')) return { status: 415 };
    if (Buffer.byteLength(body) > MOST_BYTES) return { status: 413 };
    const parsed = event.safeParse(json);
    if (!parsed.success) return invalid(parsed.error.issues.map(({ path: at }) => `'${at.join('.')}'`));
    const { routing_key: routingKey } = parsed.data;
    if (routingKey.length !== 32 || !this.#keys.has(routingKey)) {
      return invalid([`'routing_key' is invalid (${routingKey})`]);
    }
    if (!this.#limit(routingKey).take()) return { status: 429, body: { status: 'throttle exceeded' } };
    return this.#process(parsed.data);
  }

  #limit(routingKey: string): WindowLimit {
    const limit = this.#limits.get(routingKey) ?? new WindowLimit(PER_MINUTE, 60_000, this.#now);
    this.#limits.set(routingKey, limit);
    return limit;
  }

  #process(sent: z.infer<typeof event>): VendorAnswer {
    const { routing_key: routingKey } = sent;
    const dedupKey = sent.dedup_key ?? `made-${this.incidents.length}`;
    const open = this.open.find((each) => each.routingKey === routingKey && each.dedupKey === dedupKey);
    if (sent.event_action !== 'trigger') {
      // The end of an incident that is not open is dropped.
      if (open !== undefined) open.state = sent.event_action === 'resolve' ? 'resolved' : 'acknowledged';
    } else if (open !== undefined) {
      open.triggers += 1;
      open.severity = sent.payload.severity;
    } else {
      const { summary, severity } = sent.payload;
      this.incidents.push({ routingKey, dedupKey, summary, severity, triggers: 1, state: 'triggered' });
    }
    return {
      status: 202,
      body: { status: 'success', message: 'Event processed', dedup_key: dedupKey },
    };
  }
}

function invalid(errors: readonly string[]): VendorAnswer {
  return { status: 400, body: { status: 'invalid event', message: 'Event object is invalid', errors } };
}
