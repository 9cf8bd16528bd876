import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { type Receiver, startReceiver } from '../../../../../test/support/receiver.ts';
import type { SendResult } from '../channel.ts';
import type { StoredChannel } from '../sender.ts';

/** What vendors say in the bodies of their answers, beyond the status. */

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const OPERATOR = (url: string) => ({
  telegramBotToken: new Secret('123456:bot-s3cret-token'),
  telegramBaseUrl: url,
  pushABaseUrl: url,
});

function channelOf(kind: ChannelKind, url: string): StoredChannel {
  switch (kind) {
    case 'messenger_a':
      return { kind, settings: new Secret({ chat_id: '-1001' }) };
    case 'push_a':
      return { kind, settings: new Secret({ topic: 'alerts', server_url: null, token: null }) };
    case 'chat_a':
    case 'chat_b':
    case 'chat_c':
      return { kind, settings: new Secret({ webhook_url: `${url}/hook` }) };
    default:
      throw new RangeError(`no channel of ${kind}`);
  }
}

async function resultOf(
  kind: ChannelKind,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<SendResult> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  receiver.answerWith((_request, response) => response.writeHead(status, headers).end(text));
  return loopbackSender(OPERATOR(receiver.url))(channelOf(kind, receiver.url), FULL_ALERT, sendContext());
}

const telegram = (code: number, description: string, parameters = {}) => ({
  ok: false,
  error_code: code,
  description,
  parameters,
});
const ntfy = (code: number) => ({ code, http: Math.floor(code / 100), error: 'refused' });
const google = (reason: string) => ({ error: { code: 400, message: 'refused', details: [{ reason }] } });

test.each<[kind: ChannelKind, what: string, status: number, body: unknown, expected: Partial<SendResult>]>([
  [
    'chat_a',
    'a wait with a fraction',
    429,
    { retry_after: 1.3369, global: false },
    { outcome: 'retry', retryAfterMs: 1_337 },
  ],
  [
    'chat_a',
    'an unknown webhook',
    404,
    { message: 'Unknown Webhook', code: 10_015 },
    { outcome: 'permanent-channel' },
  ],
  [
    'chat_a',
    'a bad token',
    401,
    { message: 'Invalid Webhook Token', code: 50_027 },
    { outcome: 'permanent-channel' },
  ],
  [
    'chat_a',
    'missing access',
    403,
    { message: 'Missing Access', code: 50_001 },
    { outcome: 'permanent-channel' },
  ],
  [
    'chat_a',
    'its own network error',
    403,
    { message: 'internal network error', code: 40_333 },
    { outcome: 'retry' },
  ],
  ['chat_a', 'a page of what stands before it', 403, '<html>blocked</html>', { outcome: 'retry' }],
  [
    'chat_a',
    'a forum without a thread',
    400,
    { message: 'x', code: 220_001 },
    { outcome: 'permanent-channel' },
  ],
  [
    'chat_a',
    'a bad form',
    400,
    { message: 'Invalid Form Body', code: 50_035 },
    { outcome: 'permanent-message' },
  ],
  ['chat_b', 'a page in place of ok', 200, '<html>', { outcome: 'retry' }],
  ['chat_b', 'ok with a line feed', 200, 'ok\n', { outcome: 'delivered' }],
  ['chat_b', 'a bad payload', 400, 'invalid_payload', { outcome: 'permanent-message' }],
  ['chat_b', 'a removed webhook', 404, 'no_service', { outcome: 'permanent-channel' }],
  ['chat_b', 'an archived room', 410, 'channel_is_archived', { outcome: 'permanent-channel' }],
  ['chat_b', 'a fault of its own', 500, 'rollup_error', { outcome: 'retry' }],
  ['chat_c', 'a wrong key', 400, google('API_KEY_INVALID'), { outcome: 'permanent-channel' }],
  ['chat_c', 'a bad card', 400, google('BAD_REQUEST'), { outcome: 'permanent-message' }],
  ['chat_c', 'details of another shape', 400, { error: { details: 'x' } }, { outcome: 'permanent-message' }],
  [
    'messenger_a',
    'a wait',
    429,
    telegram(429, 'Too Many Requests', { retry_after: 14 }),
    { outcome: 'retry', retryAfterMs: 14_000 },
  ],
  [
    'messenger_a',
    'a wrong token',
    401,
    telegram(401, 'Unauthorized'),
    { outcome: 'retry', reason: 'operator' },
  ],
  [
    'messenger_a',
    'a token of no form',
    404,
    telegram(404, 'Not Found'),
    { outcome: 'retry', reason: 'operator' },
  ],
  [
    'messenger_a',
    'a bot that was removed',
    403,
    telegram(403, 'Forbidden: bot was kicked'),
    { outcome: 'retry', mayBeDead: true },
  ],
  [
    'messenger_a',
    'no rights',
    400,
    telegram(400, 'Bad Request: not enough rights to send text messages to the chat'),
    { outcome: 'retry', mayBeDead: true },
  ],
  [
    'messenger_a',
    'no chat',
    400,
    telegram(400, 'Bad Request: chat not found'),
    { outcome: 'permanent-channel' },
  ],
  [
    'messenger_a',
    'broken markup',
    400,
    telegram(400, "Bad Request: can't parse entities"),
    { outcome: 'permanent-message' },
  ],
  ['messenger_a', 'no JSON', 400, '<html>', { outcome: 'permanent-message' }],
  ['messenger_a', 'a success that is none', 200, { ok: false }, { outcome: 'retry' }],
  ['push_a', 'the quota of a day', 429, ntfy(42_908), { outcome: 'retry', retryAfterMs: 3_600_000 }],
  ['push_a', 'failed logins', 429, ntfy(42_909), { outcome: 'retry', retryAfterMs: 3_600_000 }],
  ['push_a', 'a bad topic', 400, ntfy(40_009), { outcome: 'permanent-channel' }],
  ['push_a', 'another bad request', 400, ntfy(40_024), { outcome: 'permanent-message' }],
  ['push_a', 'a wrong token', 401, ntfy(40_101), { outcome: 'permanent-channel' }],
  ['push_a', 'a topic that is not ours', 403, ntfy(40_301), { outcome: 'permanent-channel' }],
  ['push_a', 'a default server that is not there', 404, '<html>', { outcome: 'retry', reason: 'operator' }],
  ['push_a', 'a wrong path of the operator', 404, ntfy(40_401), { outcome: 'retry', reason: 'operator' }],
  ['push_a', 'a login before the default server', 401, '<html>', { outcome: 'retry', reason: 'operator' }],
  ['push_a', 'no space left', 507, ntfy(50_701), { outcome: 'retry' }],
  ['push_a', 'a page of another service', 200, '<html>', { outcome: 'retry' }],
])('%s: %s', async (kind, _, status, body, expected) => {
  const result = await resultOf(kind, status, body);
  expect(result).toMatchObject({ statusCode: status, ...expected });
  // Nothing else holds the channel.
  if (!('retryAfterMs' in expected)) expect(result).not.toHaveProperty('retryAfterMs');
  expect(JSON.stringify(result)).not.toContain('s3cret');
});

test('the requests of a burst are no reason to wait for an hour', async () => {
  const result = await resultOf('push_a', 429, ntfy(42_901), { 'retry-after': '5' });
  expect(result).toMatchObject({ outcome: 'retry', retryAfterMs: 5_000 });
});
