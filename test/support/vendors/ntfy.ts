import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import type { HeldMessage } from './held-message.ts';
import type { Vendor, VendorAnswer } from './vendor.ts';

export const NTFY_TOKEN = 'tk_s3cret_token';
/** A topic that needs {@link NTFY_TOKEN}. All others are open. */
export const NTFY_GUARDED_TOPIC = 'guarded';

const JSON_BYTES = 2 * 4_096;
const MESSAGE_BYTES = 4_095;

/** https://docs.ntfy.sh/publish/#publish-as-json (2026-11-22), as far as svc uses it. */
const message = z.strictObject({
  topic: z.string(),
  title: z.string().optional(),
  message: z.string().optional(),
  priority: z.number().int().min(1).max(5).optional(),
  tags: z.array(z.string()).optional(),
  click: z.url().optional(),
  actions: z
    .array(z.strictObject({ action: z.literal('view'), label: z.string().min(1), url: z.url() }))
    .max(3)
    .optional(),
});

function refused(http: number, code: number, error: string): VendorAnswer {
  return { status: http, body: { code, http, error, link: 'https://ntfy.sh/docs/publish/' } };
}

/** An ntfy server. All topics but one are open. */
export class Ntfy implements Vendor {
  readonly messages: HeldMessage[] = [];
  readonly priorities: number[] = [];

  answer({ method, path, headers, text, json }: ReceivedRequest): VendorAnswer {
    if (path !== '/' || method !== 'POST') return refused(404, 40_401, 'page not found');
    if (Buffer.byteLength(text) > JSON_BYTES) return refused(413, 41_301, 'JSON body too large');
    const { data } = message.safeParse(json);
    if (data === undefined) return refused(400, 40_024, 'invalid request: request body must be valid JSON');
    const { topic, title = '', message: body = '', priority = 3 } = data;
    if (!/^[-_A-Za-z0-9]{1,64}$/.test(topic)) return refused(400, 40_009, 'invalid request: topic invalid');
    const { authorization } = headers;
    if (authorization !== undefined && authorization !== `Bearer ${NTFY_TOKEN}`) {
      return refused(401, 40_101, 'unauthorized');
    }
    if (topic === NTFY_GUARDED_TOPIC && authorization === undefined) return refused(403, 40_301, 'forbidden');
    if (Buffer.byteLength(body) > MESSAGE_BYTES) {
      return refused(400, 40_014, 'invalid request: attachments not allowed');
    }
    // Its apps link the addresses of plain text themselves.
    const links = body.match(/https?:\/\/\S+/gi) ?? [];
    this.messages.push({ text: `${title}\n${body}`, links, thread: null, mentions: [] });
    this.priorities.push(priority);
    return { status: 200, body: { id: `id${this.messages.length}`, time: 1, event: 'message', topic } };
  }
}
