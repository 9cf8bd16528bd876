import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import { characters, type Vendor, type VendorAnswer, WindowLimit } from './vendor.ts';

/*
 * Opsgenie's Alert API v2 (docs.opsgenie.com, read on 2026-11-21). Requests are queued. A request that cannot
 * be carried out fails after the 202, and only its state says so.
 */

export type OpsgenieAlert = {
  readonly alias: string;
  message: string;
  description: string;
  priority: string;
  /** Number of times that the alert was created while it was open. */
  count: number;
  status: 'open' | 'closed';
};

const PER_MINUTE = 300;

const text = (most: number) => z.string().refine((value) => characters(value) <= most);
const creation = z.object({
  message: text(130).min(1),
  alias: text(512).optional(),
  description: text(15_000).optional(),
  details: z
    .record(z.string(), z.string())
    .refine((all) => JSON.stringify(all).length <= 8_000)
    .optional(),
  entity: text(512).optional(),
  source: text(100).optional(),
  tags: z.array(text(50)).max(20).optional(),
  priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']).default('P3'),
  note: text(25_000).optional(),
});
const closing = z.object({
  source: text(100).optional(),
  user: text(100).optional(),
  note: text(25_000).optional(),
});
const CHANGES = {
  message: z.object({ message: text(130).min(1) }),
  description: z.object({ description: text(15_000).min(1) }),
  priority: z.object({ priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']) }),
} as const;

type Change = keyof typeof CHANGES;

export class Opsgenie implements Vendor {
  readonly alerts: OpsgenieAlert[] = [];
  /** Requests that were accepted and could not be carried out. */
  readonly failedRequests: string[] = [];
  readonly #keys: ReadonlySet<string>;
  readonly #limit: WindowLimit;
  #requests = 0;

  constructor(apiKeys: readonly string[], now: () => number = () => 0) {
    this.#keys = new Set(apiKeys);
    this.#limit = new WindowLimit(PER_MINUTE, 60_000, now);
  }

  get open(): OpsgenieAlert[] {
    return this.alerts.filter(({ status }) => status === 'open');
  }

  answer(request: ReceivedRequest): VendorAnswer {
    const key = /^GenieKey (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined || !this.#keys.has(key)) {
      return said(401, `Could not authenticate (${request.headers.authorization})`);
    }
    if (!this.#limit.take()) {
      const headers = { 'x-ratelimit-state': 'THROTTLED', 'x-ratelimit-period-in-sec': '60' };
      return { ...said(429, 'TooManyRequests'), headers };
    }
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) return said(415, 'Unsupported');
    if (request.json === undefined) return said(400, 'Request body is not processable');
    const url = new URL(request.path, 'http://opsgenie.test');
    const [, alias, action] = /^\/v2\/alerts\/([^/]+)\/(\w+)$/.exec(url.pathname) ?? [];
    if (request.method === 'POST' && url.pathname === '/v2/alerts') return this.#create(request.json);
    if (alias === undefined || action === undefined) return said(404, 'Not found');
    // Without this parameter, the identifier is the id that Opsgenie made.
    const found =
      url.searchParams.get('identifierType') === 'alias'
        ? this.open.find((alert) => alert.alias === decodeURIComponent(alias))
        : undefined;
    if (request.method === 'POST' && action === 'close') return this.#close(found, request.json);
    if (request.method === 'PUT' && action in CHANGES)
      return this.#change(found, action as Change, request.json);
    return said(405, 'Method not allowed');
  }

  #create(json: unknown): VendorAnswer {
    const parsed = creation.safeParse(json);
    if (!parsed.success) return said(422, parsed.error.message);
    const { message, alias = `made-${this.alerts.length}`, description = '', priority } = parsed.data;
    const open = this.open.find((alert) => alert.alias === alias);
    if (open === undefined)
      this.alerts.push({ alias, message, description, priority, count: 1, status: 'open' });
    else open.count += 1;
    return this.#queued();
  }

  #close(alert: OpsgenieAlert | undefined, json: unknown): VendorAnswer {
    const parsed = closing.safeParse(json);
    if (!parsed.success) return said(422, parsed.error.message);
    if (alert === undefined) this.failedRequests.push('close');
    else alert.status = 'closed';
    return this.#queued();
  }

  #change(alert: OpsgenieAlert | undefined, change: Change, json: unknown): VendorAnswer {
    const parsed = CHANGES[change].safeParse(json);
    if (!parsed.success) return said(422, parsed.error.message);
    if (alert === undefined) this.failedRequests.push(change);
    else Object.assign(alert, parsed.data);
    return this.#queued();
  }

  #queued(): VendorAnswer {
    this.#requests += 1;
    const requestId = `43a29c5c-3dbf-4fa4-9c26-${String(this.#requests).padStart(12, '0')}`;
    return { status: 202, body: { result: 'Request will be processed', took: 0.107, requestId } };
  }
}

function said(status: number, message: string): VendorAnswer {
  return { status, body: { message, took: 0.001, requestId: 'rejected' } };
}
