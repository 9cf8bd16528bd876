import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import type { HeldMessage } from './held-message.ts';
import { shownOf } from './markup.ts';
import type { Vendor, VendorAnswer } from './vendor.ts';

export const TELEGRAM_TOKEN = '123456:s3cret-bot-token_ABC';
/** Chats that the fake has. */
export const TELEGRAM_CHATS = {
  group: '-1001234567890',
  named: '@svc_alerts',
  /** A group that became {@link TELEGRAM_CHATS.group}. */
  former: '-4001',
  /** A chat that has removed the bot. */
  blocked: '-4002',
  /** A chat that does not let the bot write. */
  readOnly: '-4003',
} as const;

const TAGS: ReadonlySet<string> = new Set(['a', 'b', 'code']);
const TEXT_UNITS = 4_096;

/** https://core.telegram.org/bots/api#sendmessage (2026-11-22). */
const message = z.strictObject({
  chat_id: z.union([z.number().int(), z.string().regex(/^@/)]),
  text: z.string(),
  parse_mode: z.literal('HTML').optional(),
  link_preview_options: z.strictObject({ is_disabled: z.boolean() }).optional(),
  reply_parameters: z
    .strictObject({ message_id: z.number().int(), allow_sending_without_reply: z.boolean().optional() })
    .optional(),
});

function refused(code: number, description: string, parameters?: object): VendorAnswer {
  return {
    status: code,
    body: { ok: false, error_code: code, description, ...(parameters && { parameters }) },
  };
}

/** Telegram with one bot. A thread is the id of the message that is answered. */
export class Telegram implements Vendor {
  readonly messages: HeldMessage[] = [];

  answer({ method, path, json }: ReceivedRequest): VendorAnswer {
    if (path !== `/bot${TELEGRAM_TOKEN}/sendMessage`) return refused(401, 'Unauthorized');
    const { data } = message.safeParse(json);
    if (method !== 'POST' || data === undefined) return refused(400, 'Bad Request: message text is empty');
    const refusal = refusalOf(String(data.chat_id));
    if (refusal !== null) return refusal;
    const shown = shownOf(data.text, TAGS);
    if (data.parse_mode !== 'HTML' || shown === null) {
      return refused(400, "Bad Request: can't parse entities: Unsupported start tag");
    }
    if (shown.text.length > TEXT_UNITS) return refused(400, 'Bad Request: message is too long');
    const { message_id: answered, allow_sending_without_reply: isAnyway } = data.reply_parameters ?? {};
    const isKnown = answered !== undefined && answered <= this.messages.length;
    if (answered !== undefined && !isKnown && isAnyway !== true) {
      return refused(400, 'Bad Request: message to be replied not found');
    }
    const id = this.messages.length + 1;
    const mentions = shown.outsideCode.match(/(?<!\w)@[A-Za-z]\w*/g) ?? [];
    const { text, links } = shown;
    this.messages.push({ text, links, thread: String(isKnown ? answered : id), mentions });
    return { status: 200, body: { ok: true, result: { message_id: id } } };
  }
}

function refusalOf(chat: string): VendorAnswer | null {
  switch (chat) {
    case TELEGRAM_CHATS.group:
    case TELEGRAM_CHATS.named:
      return null;
    case TELEGRAM_CHATS.former:
      return refused(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
        migrate_to_chat_id: Number(TELEGRAM_CHATS.group),
      });
    case TELEGRAM_CHATS.blocked:
      return refused(403, 'Forbidden: bot was kicked from the supergroup chat');
    case TELEGRAM_CHATS.readOnly:
      return refused(400, 'Bad Request: not enough rights to send text messages to the chat');
    default:
      return refused(400, 'Bad Request: chat not found');
  }
}
