import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { urlOf } from '@svc/shared/settings/setting-schemas.ts';
import { z } from 'zod';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendContext, SendResult, SendTools } from '../channel.ts';
import { contentOf, type Fact, linesWithin } from '../content.ts';
import { addressIn, escapedMarkup, HTML, INVISIBLE, inForms, type TextForms } from '../escaping.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { jsonOf, judged, passing, postJson, refused } from '../vendor-api.ts';

const SETTINGS = {
  telegramBotToken: {
    name: 'SVC_TELEGRAM_BOT_TOKEN',
    description: 'token of the Telegram bot that writes to messenger_a channels',
    schema: z
      .string()
      .regex(/^\d{1,20}:[A-Za-z0-9_-]{10,100}$/, "must be a bot's token like 123456:ABC-DEF")
      .optional(),
  },
  telegramBaseUrl: {
    name: 'SVC_TELEGRAM_BASE_URL',
    description: 'address of the Telegram Bot API',
    default: 'https://api.telegram.org',
    schema: urlOf(['https:', 'http:']),
  },
} as const satisfies SettingsTable;

/**
 * Telegram, by a bot of the operator. Later alerts of an incident are replies to the incident's
 * first message. Source: https://core.telegram.org/bots/api#sendmessage (2026-11-22).
 */
export const messengerA: Channel<'messenger_a', typeof SETTINGS> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: false,
  // Telegram takes 20 messages a minute to a group, and 30 a
  // second from a bot (https://core.telegram.org/bots/faq).
  rate: { channel: { perMinute: 15, burst: 5 }, kind: { perMinute: 1_800, burst: 30 } },
  declaredUrl: null,
  operatorSettings: SETTINGS,
  async send({ chat_id: declared }, alert, context, tools) {
    const present = readMove(context.kept, declared) ?? declared;
    const opening = readOpening(context.thread, declared);
    const first = await sendTo(opening?.chat ?? present, opening, alert, context, tools);
    // A group that becomes a supergroup gets a new id. Telegram then refuses
    // messages to the former id, and each refusal contains the new id.
    const moved = first.kind === 'answered' ? movedTo(first) : null;
    const chat = moved ?? opening?.chat ?? present;
    // In the new chat, the id of the opening message is not valid.
    const result = moved === null ? first : await sendTo(moved, null, alert, context, tools);
    return judged(result, (reply) =>
      ownMeaning(reply, { declared, chat, moved, opening: moved === null ? opening : null }),
    );
  },
};

type Tools = SendTools<typeof SETTINGS>;

/** The first message of an incident. Messages about later alerts are replies to it. */
type Opening = { readonly chat: string; readonly messageId: number };

function sendTo(
  chat: string,
  opening: Opening | null,
  alert: Alert,
  { signal }: SendContext,
  { operatorPost, operator, publicUrl }: Tools,
) {
  const token = operator.telegramBotToken.reveal();
  return postJson(operatorPost, {
    url: `${operator.telegramBaseUrl.replace(/\/+$/, '')}/bot${token}/sendMessage`,
    body: renderTelegram(chat, opening, alert, publicUrl),
    secrets: [token],
    signal,
  });
}

/**
 * Maximum length of the displayed text (in Telegram's words, "after entities parsing"),
 * in characters: https://core.telegram.org/bots/api#sendmessage (2026-11-22).
 */
const TEXT_CHARACTERS = 4_096;
/** Maximum length of the title, in characters. The bound is svc's own, and leaves room for the facts. */
const TITLE_CHARACTERS = 1_000;

function renderTelegram(chat: string, opening: Opening | null, alert: Alert, publicUrl: string) {
  const { title, facts, link } = contentOf(alert, publicUrl);
  const fitting = shortened(
    title,
    charactersUpTo(TITLE_CHARACTERS, (text) => shown(formed(text))),
  );
  const textOf = (lines: string) => [`<b>${formed(fitting)}</b>`, lines, addressIn(FORMS, link)].join('\n');
  return {
    chat_id: /^-?\d+$/.test(chat) && Number.isSafeInteger(Number(chat)) ? Number(chat) : chat,
    text: textOf(
      linesWithin(
        facts,
        lineOf,
        charactersUpTo(TEXT_CHARACTERS, (lines) => shown(textOf(lines))),
      ),
    ),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
    ...(opening === null
      ? {}
      : { reply_parameters: { message_id: opening.messageId, allow_sending_without_reply: true } }),
  };
}

function lineOf({ label, text, isAddress }: Fact): string {
  return `<b>${label}:</b> ${isAddress ? addressIn(IN_CODE, text) : formed(text)}`;
}

/**
 * Escapes a text. Telegram notifies the user of an `@name`, unless an invisible character follows the `@`.
 */
function escaped(text: string): string {
  return escapedMarkup(text.replaceAll('@', `@${INVISIBLE}`));
}

/** A link gets no invisible character, because the character would break the link's address. */
const FORMS: TextForms = { text: escaped, link: HTML.link, address: escaped };
/**
 * Writes an address that cannot be a link as code. The address follows the
 * bold label, because Telegram takes no code inside of bold text.
 */
const IN_CODE: TextForms = { ...FORMS, address: (address) => `<code>${escapedMarkup(address)}</code>` };

function formed(text: string): string {
  return inForms(FORMS, text);
}

/**
 * The text that Telegram displays for a text with markup.
 * Each entity, such as `&amp;`, becomes one character.
 */
function shown(form: string): string {
  return form.replace(/<[^>]*>/g, '').replace(/&\w+;/g, '&');
}

const sent = z.object({ ok: z.literal(true), result: z.object({ message_id: z.number().int() }) });
const refusal = z.object({
  description: z.string().default(''),
  parameters: z
    .object({ retry_after: z.number().optional(), migrate_to_chat_id: z.number().int().optional() })
    .default({}),
});

function movedTo(reply: PostReply): string | null {
  const id = reply.statusCode === 400 ? parametersOf(reply)?.migrate_to_chat_id : undefined;
  return id === undefined ? null : String(id);
}

function parametersOf(reply: PostReply) {
  return refusal.safeParse(jsonOf(reply)).data?.parameters;
}

/**
 * Descriptions of refusals (status 400) because of the chat, or because of the bot's rights in
 * it. On 2023-10-30, Telegram wrongly refused messages for hours because of missing rights.
 */
const NO_CHAT = /chat not found|chat_id is empty|PEER_ID_INVALID|user not found/i;
const NO_RIGHTS = /not enough rights|administrator rights|CHAT_WRITE_FORBIDDEN|have no rights/i;

/** @property moved the new id of the chat in Telegram's refusal; null: the chat has not moved */
type Sent = { declared: string; chat: string; moved: string | null; opening: Opening | null };

function ownMeaning(reply: PostReply, { declared, chat, moved, opening }: Sent): SendResult | null {
  const { statusCode } = reply;
  if (statusCode >= 200 && statusCode <= 299) {
    const { data } = sent.safeParse(jsonOf(reply));
    if (data === undefined) return passing(reply);
    const thread = JSON.stringify({ declared, ...(opening ?? { chat, messageId: data.result.message_id }) });
    const kept = moved === null ? {} : { kept: JSON.stringify({ declared, chat: moved }) };
    return { outcome: 'delivered', statusCode, thread, ...kept };
  }
  if (statusCode === 429) {
    const seconds = parametersOf(reply)?.retry_after;
    return passing(reply, { waitMs: seconds && Math.ceil(seconds * 1_000) });
  }
  // Telegram answers a wrong bot token with one of these statuses.
  if (statusCode === 401 || statusCode === 404) return passing(reply, { reason: 'operator' });
  // The bot was blocked or removed, or the chat is gone. Sometimes Telegram answers 403 without such a cause.
  if (statusCode === 403) return passing(reply, { mayBeDead: true });
  const description = refusal.safeParse(jsonOf(reply)).data?.description ?? '';
  if (statusCode === 400 && NO_CHAT.test(description)) return refused('permanent-channel', reply);
  if (statusCode === 400 && NO_RIGHTS.test(description)) return passing(reply, { mayBeDead: true });
  return null;
}

const openings = z.object({ declared: z.string(), chat: z.string(), messageId: z.number().int() });

/**
 * The first message of the incident; null: there is no such message yet, or it went
 * to a chat that was declared earlier, or the channel was of another kind then.
 */
function readOpening(thread: string | null, declared: string): Opening | null {
  if (thread === null) return null;
  const { data } = openings.safeParse(jsonOf({ body: thread }));
  return data?.declared === declared ? { chat: data.chat, messageId: data.messageId } : null;
}

const moves = z.object({ declared: z.string(), chat: z.string() });

/** The id that the declared chat has now; null: Telegram has reported no new id of this chat. */
function readMove(kept: string | null, declared: string): string | null {
  if (kept === null) return null;
  const { data } = moves.safeParse(jsonOf({ body: kept }));
  return data?.declared === declared ? data.chat : null;
}
