import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import type { HeldMessage } from './held-message.ts';
import { shownOf } from './markup.ts';
import type { Vendor, VendorAnswer } from './vendor.ts';

/** Path of the fake's only webhook, with its key and token. */
export const GOOGLE_CHAT_PATH = '/v1/spaces/AAAA/messages?key=s3cret-key&token=s3cret-token%3D';

const MESSAGE_BYTES = 32_000;
const TAGS: ReadonlySet<string> = new Set(['a', 'b', 'font']);

const widget = z.union([
  z.strictObject({ textParagraph: z.strictObject({ text: z.string() }) }),
  z.strictObject({
    decoratedText: z.strictObject({ topLabel: z.string(), text: z.string(), wrapText: z.boolean() }),
  }),
  z.strictObject({
    buttonList: z.strictObject({
      buttons: z.array(
        z.strictObject({
          text: z.string(),
          onClick: z.strictObject({ openLink: z.strictObject({ url: z.url({ protocol: /^https?$/ }) }) }),
        }),
      ),
    }),
  }),
]);

/** https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages (2026-11-22). */
const message = z.strictObject({
  text: z.string().optional(),
  fallbackText: z.string(),
  cardsV2: z.array(
    z.strictObject({
      cardId: z.string(),
      card: z.strictObject({ sections: z.array(z.strictObject({ widgets: z.array(widget).max(100) })) }),
    }),
  ),
  thread: z.strictObject({ threadKey: z.string().max(4_000) }).optional(),
});

function refused(status: number, text: string, details: object[] = []): VendorAnswer {
  return { status, body: { error: { code: status, message: text, status: 'INVALID_ARGUMENT', details } } };
}

/** Google Chat with the webhook of one space. */
export class GoogleChat implements Vendor {
  readonly messages: HeldMessage[] = [];
  /** The message of each request id. */
  readonly #made = new Map<string, object>();

  answer({ method, path, text, json }: ReceivedRequest): VendorAnswer {
    const { pathname, searchParams } = new URL(path, 'http://chat');
    const refusal = addressRefusal(pathname, searchParams);
    if (refusal !== null) return refusal;
    const { data } = message.safeParse(json);
    const texts = data === undefined ? null : textsOf(data);
    if (method !== 'POST' || data === undefined || texts === null)
      return refused(400, 'Invalid JSON payload');
    if (Buffer.byteLength(text) > MESSAGE_BYTES) return refused(400, 'Message is too long');
    const id = searchParams.get('requestId') ?? '';
    const known = this.#made.get(id);
    if (known !== undefined) return { status: 200, body: known };
    const isReply = searchParams.get('messageReplyOption') === 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD';
    const thread = isReply ? (data.thread?.threadKey ?? null) : null;
    const mentions = `${data.text ?? ''}${data.fallbackText}`.match(/<users\/[^>]*>/g) ?? [];
    const links = texts.flatMap((each) => each.links);
    this.messages.push({ text: texts.map(({ text }) => text).join('\n'), links, thread, mentions });
    const made = { name: `spaces/AAAA/messages/${this.messages.length}` };
    if (id !== '') this.#made.set(id, made);
    return { status: 200, body: made };
  }
}

function addressRefusal(pathname: string, asked: URLSearchParams): VendorAnswer | null {
  const own = new URL(GOOGLE_CHAT_PATH, 'http://chat');
  if (pathname !== own.pathname) return refused(404, 'Space not found');
  if (asked.get('key') !== own.searchParams.get('key')) {
    return refused(400, 'API key not valid. Please pass a valid API key.', [{ reason: 'API_KEY_INVALID' }]);
  }
  return asked.get('token') === own.searchParams.get('token') ? null : refused(401, 'Bad token');
}

type Shown = { readonly text: string; readonly links: readonly string[] };

/** The text that each widget shows; null: the markup of a widget is broken. */
function textsOf({ cardsV2 }: z.infer<typeof message>): Shown[] | null {
  const widgets = cardsV2.flatMap(({ card }) => card.sections.flatMap((section) => section.widgets));
  const texts: Shown[] = [];
  for (const each of widgets) {
    if ('buttonList' in each) continue;
    const html = 'textParagraph' in each ? each.textParagraph.text : each.decoratedText.text;
    const shown = shownOf(html, TAGS);
    if (shown === null) return null;
    const label = 'textParagraph' in each ? '' : `${each.decoratedText.topLabel}: `;
    texts.push({ text: `${label}${shown.text}`, links: shown.links });
  }
  return texts;
}
