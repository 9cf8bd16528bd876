import type { Alert } from '@svc/shared/channels/alert.ts';
import { addressSecrets } from '@svc/shared/masking/mask.ts';
import { VERSION } from '@svc/shared/version.ts';
import { z } from 'zod';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { contentOf, type Fact, linesWithin, STATUS_COLORS } from '../content.ts';
import { addressIn, inForms, type TextForms } from '../escaping.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { jsonOf, judged, passing, postJson, refused } from '../vendor-api.ts';

/**
 * Discord, by the webhook of a Discord channel. svc begins no threads and changes no messages.
 * Source: https://discord.com/developers/docs/resources/webhook (2026-11-22).
 */
export const chatA: Channel<'chat_a'> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: false,
  // The limits of webhooks on 2026-11-22. Discord documents
  // no fixed limits: each answer contains the present limits.
  rate: { channel: { perMinute: 30, burst: 5 } },
  declaredUrl: {
    attribute: 'webhook_url',
    hosts: [
      'discord.com',
      'discordapp.com',
      'ptb.discord.com',
      'canary.discord.com',
      'ptb.discordapp.com',
      'canary.discordapp.com',
    ],
  },
  operatorSettings: {},
  async send({ webhook_url: address }, alert, { signal }, { post, publicUrl }) {
    const result = await postJson(post, {
      url: withWait(address),
      // Discord asks for a user agent of this form, and blocks user agents that it does not know.
      headers: { 'user-agent': `DiscordBot (${new URL(publicUrl).origin}, ${VERSION})` },
      body: renderDiscord(alert, publicUrl),
      secrets: addressSecrets(address),
      signal,
    });
    return judged(result, ownMeaning, 'users');
  },
};

/**
 * Adds `wait` to the address. Without `wait`, Discord answers before it
 * stores the message: it answers 204 even if it never stores the message.
 */
function withWait(address: string): string {
  const url = URL.parse(address);
  if (url === null) return address;
  url.searchParams.set('wait', 'true');
  return url.href;
}

/** Bounds of an embed, in characters: https://discord.com/developers/docs/resources/message (2026-11-22). */
const TITLE_CHARACTERS = 256;
const DESCRIPTION_CHARACTERS = 4_096;

function renderDiscord(alert: Alert, publicUrl: string) {
  const { status, title, facts, link } = contentOf(alert, publicUrl);
  return {
    embeds: [
      {
        title: formed(shortened(title, charactersUpTo(TITLE_CHARACTERS, formed))),
        description: linesWithin(facts, lineOf, charactersUpTo(DESCRIPTION_CHARACTERS)),
        url: link,
        color: STATUS_COLORS[status],
        timestamp: new Date(alert.at).toISOString(),
      },
    ],
    // No text may notify people.
    allowed_mentions: { parse: [] },
  };
}

function lineOf({ label, text, isAddress }: Fact): string {
  return `**${label}:** ${isAddress ? addressIn(MARKDOWN, text) : formed(text)}`;
}

/**
 * Writes texts in Discord's Markdown. A backslash escapes the punctuation mark after it, but
 * not in an address that Discord finds and links. An address in `<…>` is linked as a whole.
 */
const MARKDOWN: TextForms = {
  text: (text) => text.replace(/[\\*_~`|<>[\]@]/g, '\\$&'),
  link: (_address, target) => `<${target}>`,
  address: (address) => `\`${address.replaceAll('`', "'")}\``,
};

function formed(text: string): string {
  return inForms(MARKDOWN, text);
}

const limited = z.object({ retry_after: z.number() });
const refusal = z.object({ code: z.number() });

/** Discord's error code for `internal network error`. The status is 403, but the fault is Discord's. */
const OWN_FAULT = 40_333;
/**
 * Discord's error code for the webhook of a forum. A forum
 * takes a message only if the address has `thread_id`.
 */
const NEEDS_THREAD = 220_001;

function ownMeaning(reply: PostReply): SendResult | null {
  const { statusCode } = reply;
  if (statusCode >= 200 && statusCode <= 299) {
    // 204 does not promise that the message is stored. Any other 2xx does not come from Discord.
    return statusCode === 200 ? null : passing(reply);
  }
  const body = jsonOf(reply);
  if (statusCode === 429) {
    const waitSeconds = limited.safeParse(body).data?.retry_after;
    return passing(reply, { waitMs: waitSeconds && Math.ceil(waitSeconds * 1_000) });
  }
  const code = refusal.safeParse(body).data?.code;
  if (statusCode === 400 && code === NEEDS_THREAD) return refused('permanent-channel', reply);
  // A server in front of Discord may refuse svc with 403 for every webhook. Such a refusal stops no channel.
  if (statusCode === 403 && (code === undefined || code === OWN_FAULT)) return passing(reply);
  return null;
}
