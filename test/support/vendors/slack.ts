import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import type { HeldMessage } from './held-message.ts';
import type { Vendor, VendorAnswer } from './vendor.ts';

/** Path of the fake's only webhook. */
export const SLACK_PATH = '/services/T0001234/B0001234/s3cretSlackToken';

const textObject = z.strictObject({
  type: z.literal('mrkdwn'),
  text: z.string().min(1).max(3_000),
  verbatim: z.boolean().optional(),
});

/**
 * The limits of https://docs.slack.dev/reference/block-kit/blocks (2026-11-22), as far as svc uses blocks.
 */
const message = z.strictObject({
  text: z.string().min(1).max(40_000),
  attachments: z
    .array(
      z.strictObject({
        color: z.string().regex(/^#[0-9a-f]{6}$/),
        blocks: z.array(z.strictObject({ type: z.literal('section'), text: textObject })).max(50),
      }),
    )
    .optional(),
});

/** Slack with one incoming webhook. */
export class Slack implements Vendor {
  readonly messages: HeldMessage[] = [];

  answer({ method, path, headers, json }: ReceivedRequest): VendorAnswer {
    if (path !== SLACK_PATH) return { status: 404, body: 'no_service' };
    const { data } = message.safeParse(json);
    if (method !== 'POST' || headers['content-type'] !== 'application/json' || data === undefined) {
      return { status: 400, body: 'invalid_payload' };
    }
    const texts = (data.attachments ?? []).flatMap(({ blocks }) => blocks.map(({ text }) => text));
    // In texts without `verbatim` Slack looks for names.
    const looked = texts.filter(({ verbatim }) => verbatim !== true).map(({ text }) => text);
    const all = [data.text, ...texts.map(({ text }) => text)].join('\n');
    const mentions = [
      ...(all.match(/<[!@#][^>]*>/g) ?? []),
      ...(looked.join('\n').match(/@(?:here|channel|everyone)/g) ?? []),
    ];
    // With `verbatim`, Slack links only text that is written as a link.
    const links = texts.flatMap(({ text }) => [...text.matchAll(/<(https?:[^|>]*)(?:\|[^>]*)?>/gi)]);
    this.messages.push({
      text: shown(all),
      links: links.map(([, address = '']) => address.replaceAll('&amp;', '&')),
      thread: null,
      mentions,
    });
    return { status: 200, body: 'ok' };
  }
}

/** The text without its markup. A part that begins with `<` is a link, or shows nothing. */
function shown(mrkdwn: string): string {
  return mrkdwn
    .replace(/<(?:https?:[^|>]*)\|([^>]*)>/gi, '$1')
    .replace(/<(https?:[^|>]*)>/gi, '$1')
    .replace(/<[^>]*>/g, '')
    .replace(/(^|\n)\*([A-Z][A-Za-z ]*:)\*/g, '$1$2')
    .replaceAll('`', '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
