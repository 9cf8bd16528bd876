import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { type Receiver, startReceiver } from '../../../../../test/support/receiver.ts';
import type { SendResult } from '../channel.ts';
import type { OperatorValues, StoredChannel } from '../sender.ts';

/* Tests what the answers of vendors mean beyond their status. */

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
  answer(status, body, headers);
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
    'a network error of Discord',
    403,
    { message: 'internal network error', code: 40_333 },
    { outcome: 'retry' },
  ],
  ['chat_a', 'a page of a server in front of it', 403, '<html>blocked</html>', { outcome: 'retry' }],
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
    'a malformed token',
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
  ['messenger_a', 'a success without a message', 200, { ok: false }, { outcome: 'retry' }],
  ['push_a', 'the quota of a day', 429, ntfy(42_908), { outcome: 'retry', retryAfterMs: 3_600_000 }],
  ['push_a', 'failed logins', 429, ntfy(42_909), { outcome: 'retry', retryAfterMs: 3_600_000 }],
  ['push_a', 'a bad topic', 400, ntfy(40_009), { outcome: 'permanent-channel' }],
  ['push_a', 'another bad request', 400, ntfy(40_024), { outcome: 'permanent-message' }],
  ['push_a', 'a wrong token', 401, ntfy(40_101), { outcome: 'permanent-channel' }],
  ['push_a', 'a topic of somebody else', 403, ntfy(40_301), { outcome: 'permanent-channel' }],
  ['push_a', 'a default server that is not there', 404, '<html>', { outcome: 'retry', reason: 'operator' }],
  ['push_a', 'a wrong path of the operator', 404, ntfy(40_401), { outcome: 'retry', reason: 'operator' }],
  ['push_a', 'a login before the default server', 401, '<html>', { outcome: 'retry', reason: 'operator' }],
  ['push_a', 'no space left', 507, ntfy(50_701), { outcome: 'retry' }],
  [
    'push_a',
    'an answer of another service',
    200,
    'ok',
    {
      outcome: 'retry',
      error: 'the receiver answered 200 without confirming the message, so it may be another service: ok',
    },
  ],
])('%s: %s', async (kind, _, status, body, expected) => {
  const result = await resultOf(kind, status, body);
  expect(result).toMatchObject({ statusCode: status, ...expected });
  // `retryAfterMs` delays the whole channel, so no other result may have it.
  if (!('retryAfterMs' in expected)) expect(result).not.toHaveProperty('retryAfterMs');
  expect(JSON.stringify(result)).not.toContain('s3cret');
});

test('a refusal because of a burst causes no wait of an hour', async () => {
  const result = await resultOf('push_a', 429, ntfy(42_901), { 'retry-after': '5' });
  expect(result).toMatchObject({ outcome: 'retry', retryAfterMs: 5_000 });
});

const SID = 'AC0123456789abcdef0123456789abcdef';
const apiOperator = (): OperatorValues => ({
  incidentABaseUrl: receiver.url,
  incidentBUsBaseUrl: receiver.url,
  incidentBEuBaseUrl: receiver.url,
  twilioAccountSid: SID,
  twilioAuthToken: new Secret('token-s3cret'),
  twilioBaseUrl: receiver.url,
  twilioSmsFrom: 'MG0123456789abcdef0123456789abcdef',
});

const PAGERDUTY = { kind: 'incident_a', settings: new Secret({ integration_key: 'key-s3cret' }) } as const;
const OPSGENIE: StoredChannel = {
  kind: 'incident_b',
  settings: new Secret({ api_key: 'key-s3cret', region: 'us' }),
};
const SMS = { kind: 'sms', settings: new Secret({ phone_number: '+4915112345678' }) } as const;

function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  receiver.answerWith((_request, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

function send(channel: StoredChannel, alert: Partial<Alert> = {}, thread: string | null = null) {
  const context = { ...sendContext(), thread };
  return loopbackSender(apiOperator())(channel, { ...FULL_ALERT, ...alert }, context);
}

describe('Twilio', () => {
  test.each([
    [400, 21211, 'permanent-channel'],
    [400, 21408, 'permanent-channel'],
    [400, 21610, 'permanent-channel'],
    [400, 21614, 'permanent-channel'],
    [400, 63003, 'permanent-channel'],
    [400, 21617, 'permanent-message'],
    [400, 63016, 'permanent-message'],
    [429, 20429, 'retry'],
    [500, 21211, 'retry'],
  ])('%i with %i: %s', async (status, code, outcome) => {
    answer(status, { code, message: 'no', status });
    expect(await send(SMS)).toMatchObject({ outcome, statusCode: status });
  });

  test.each([
    [401, 20003],
    [400, 21606],
    [400, 21656],
    [404, 20404],
  ])('%i with %i is the fault of the operator', async (status, code) => {
    answer(status, { code, message: 'no token-s3cret', status });
    const result = await send(SMS);
    expect(result).toMatchObject({ outcome: 'retry', reason: 'operator' });
    expect(JSON.stringify(result)).not.toContain('s3cret');
  });

  test('a messaging service chooses the sender', async () => {
    answer(201, {});
    await send(SMS);
    const form = new URLSearchParams(receiver.requests[0]?.text);
    expect([form.get('From'), form.get('MessagingServiceSid')]).toEqual([
      null,
      'MG0123456789abcdef0123456789abcdef',
    ]);
  });

  test('the text takes two segments at most, and keeps its link', async () => {
    answer(201, {});
    await send(SMS, {
      errorMessage: '€'.repeat(500),
      monitor: { ...FULL_ALERT.monitor, name: '€'.repeat(256) },
    });
    const body = new URLSearchParams(receiver.requests[0]?.text).get('Body') ?? '';
    expect(body.length + (body.match(/€/g) ?? []).length).toBeLessThanOrEqual(306);
    expect(body).toMatch(/^Error: €+.*\nhttps:\/\/svc\.example\/monitors\/12\/incident$/s);
  });
});

describe('PagerDuty', () => {
  test('a wrong key stops the channel', async () => {
    answer(400, { status: 'invalid event', errors: ["'routing_key' is invalid"] });
    expect(await send(PAGERDUTY)).toMatchObject({ outcome: 'permanent-channel' });
  });

  test('another fault of an event does not stop the channel', async () => {
    answer(400, { status: 'invalid event', errors: ["'payload.summary' is missing"] });
    expect(await send(PAGERDUTY)).toMatchObject({ outcome: 'permanent-message' });
  });

  test('a test has the severity info', async () => {
    answer(202, {});
    expect(await send(PAGERDUTY, { test: true })).toMatchObject({ outcome: 'delivered' });
    expect(receiver.requests[0]?.json).toMatchObject({ payload: { severity: 'info' } });
  });
});

describe('Opsgenie', () => {
  test('a limit has its period as the wait', async () => {
    answer(429, { message: 'TooManyRequests' }, { 'x-ratelimit-period-in-sec': '60' });
    expect(await send(OPSGENIE)).toMatchObject({ outcome: 'retry', retryAfterMs: 60_000 });
  });

  test('a later alert of an incident changes the texts of the open alert', async () => {
    answer(202, {});
    expect(await send(OPSGENIE, {}, 'opened')).toMatchObject({ outcome: 'delivered', thread: 'opened' });
    const said = receiver.requests.map(({ method, path, json }) => ({ method, path, json }));
    const of = (member: string) => `/v2/alerts/0b3c%3A12%3A1767225600000/${member}?identifierType=alias`;
    expect(said.toSorted((a, b) => a.path.localeCompare(b.path))).toMatchObject([
      { method: 'POST', path: '/v2/alerts' },
      { method: 'PUT', path: of('description'), json: { description: expect.stringContaining('Problem') } },
      { method: 'PUT', path: of('message'), json: { message: expect.stringContaining('503') } },
      { method: 'PUT', path: of('priority'), json: { priority: 'P1' } },
    ]);
  });

  test.each([
    [404, 'delivered'],
    [422, 'delivered'],
    [429, 'retry'],
    [500, 'retry'],
  ])('a change that is answered %i: %s', async (status, outcome) => {
    receiver.answerWith(({ method }, response) => response.writeHead(method === 'PUT' ? status : 202).end());
    expect(await send(OPSGENIE, {}, 'opened')).toMatchObject({ outcome });
  });
});
