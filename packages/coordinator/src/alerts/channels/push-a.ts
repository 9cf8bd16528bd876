import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import type { ChannelSettings } from '@svc/shared/channels/settings.ts';
import { addressSecrets } from '@svc/shared/masking/mask.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { urlOf } from '@svc/shared/settings/setting-schemas.ts';
import { z } from 'zod';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { contentOf, linesWithin, plainLine } from '../content.ts';
import { bytesUpTo, shortened } from '../shortening.ts';
import { jsonOf, judged, passing, postJson, refused } from '../vendor-api.ts';

const SETTINGS = {
  pushABaseUrl: {
    name: 'SVC_PUSH_A_BASE_URL',
    description: 'ntfy server of push_a channels that name none',
    default: 'https://ntfy.sh',
    schema: urlOf(['https:', 'http:']),
  },
} as const satisfies SettingsTable;

/** ntfy, on its public server or another one. Source: https://docs.ntfy.sh/publish/ (2026-11-22). */
export const pushA: Channel<'push_a', typeof SETTINGS> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: false,
  // A server takes 60 requests at once from one network address, then
  // one every 5 s. Other programs may send from the same address.
  rate: { channel: { perMinute: 12, burst: 30 } },
  declaredUrl: { attribute: 'server_url', hosts: 'any' },
  operatorSettings: SETTINGS,
  async send(settings, alert, { signal }, { post, operatorPost, operator, publicUrl }) {
    const { server_url: server, token } = settings;
    const result = await postJson(server === null ? operatorPost : post, {
      url: rootOf(server ?? operator.pushABaseUrl),
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      body: renderNtfy(settings, alert, publicUrl),
      secrets: [...(token === null ? [] : [token]), ...(server === null ? [] : addressSecrets(server))],
      signal,
    });
    return server === null
      ? judged(result, (reply) => defaultServerMeaning(reply) ?? ownMeaning(reply))
      : judged(result, ownMeaning, 'users');
  },
};

/** ntfy takes JSON at the root of the server, not at the topic. */
function rootOf(server: string): string {
  const url = URL.parse(server);
  if (url === null) return server;
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url.href;
}

const TITLE_BYTES = 500;
/**
 * Maximum size of a message, bytes. ntfy turns a message of 4,096 bytes into an
 * attachment (servers 2.11 to 2.27: findings/ntfy-message-of-4096-bytes.sh).
 */
const MESSAGE_BYTES = 4_095;

const LOOKS: Readonly<Record<AlertStatus, { priority: number; tags: readonly string[] }>> = {
  error: { priority: 5, tags: ['rotating_light'] },
  degraded: { priority: 4, tags: ['warning'] },
  recovered: { priority: 3, tags: ['white_check_mark'] },
};

function renderNtfy({ topic }: ChannelSettings['push_a'], alert: Alert, publicUrl: string) {
  const { status, title, facts, link, linkText } = contentOf(alert, publicUrl);
  return {
    topic,
    title: shortened(title, bytesUpTo(TITLE_BYTES, inJson)),
    message: linesWithin(facts, plainLine, bytesUpTo(MESSAGE_BYTES, inJson)),
    ...LOOKS[status],
    click: link,
    actions: [{ action: 'view', label: linkText, url: link }],
  };
}

/**
 * Returns the text as JSON. The limits count the escapes of JSON too, because
 * the server takes a JSON body of at most twice the size of a message.
 */
function inJson(text: string): string {
  return JSON.stringify(text);
}

const published = z.object({ id: z.string(), time: z.number() });
const failure = z.object({ code: z.number().int() });

/** Minimum wait after a refusal because of the daily quota or of failed logins, ms. */
const LONG_WAIT_MS = 3_600_000;
const DAILY_QUOTA = 42_908;
const FAILED_LOGINS = 42_909;
/** Codes of ntfy for a topic that is not valid, or that the server reserves. */
const BAD_TOPICS: ReadonlySet<number> = new Set([40_009, 40_010]);

const ADDRESS_AT_FAULT: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/**
 * Judges the statuses 401, 403, 404 and 410 of the default server, whose address the operator
 * sets. Null: the answer is judged like that of any server. If ntfy itself answered 401 or 403,
 * the topic may be at fault. Otherwise the operator's address is at fault, not the channel.
 */
function defaultServerMeaning(reply: PostReply): SendResult | null {
  if (!ADDRESS_AT_FAULT.has(reply.statusCode)) return null;
  const isAboutTopic =
    (reply.statusCode === 401 || reply.statusCode === 403) && failure.safeParse(jsonOf(reply)).success;
  return isAboutTopic ? null : passing(reply, { reason: 'operator' });
}

function ownMeaning(reply: PostReply): SendResult | null {
  const { statusCode } = reply;
  const body = jsonOf(reply);
  // If a success has another body than ntfy's, another server answered.
  if (statusCode >= 200 && statusCode <= 299)
    return published.safeParse(body).success ? null : passing(reply);
  const code = failure.safeParse(body).data?.code ?? 0;
  if (statusCode === 429 && (code === DAILY_QUOTA || code === FAILED_LOGINS)) {
    return passing(reply, { waitMs: Math.max(reply.retryAfterMs ?? 0, LONG_WAIT_MS) });
  }
  if (statusCode === 400 && BAD_TOPICS.has(code)) return refused('permanent-channel', reply);
  return null;
}
