import type { Alert } from '@svc/shared/channels/alert.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { type Receiver, startReceiver } from '../../../../../test/support/receiver.ts';
import type { OperatorValues, StoredChannel } from '../sender.ts';

/* What answers of vendors mean beyond their status. */

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const SID = 'AC0123456789abcdef0123456789abcdef';
const operator = (): OperatorValues => ({
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

function answer(status: number, body: object | string, headers: Readonly<Record<string, string>> = {}) {
  receiver.answerWith((_request, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

function send(channel: StoredChannel, alert: Partial<Alert> = {}, thread: string | null = null) {
  const context = { ...sendContext(), thread };
  return loopbackSender(operator())(channel, { ...FULL_ALERT, ...alert }, context);
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
  ])('%i with %i is the operator’s to mend', async (status, code) => {
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
    expect(body).toMatch(/^Error: €+.*\nhttps:\/\/svc\.example\/monitors\/12$/s);
  });
});

describe('PagerDuty', () => {
  test('a wrong key stops the channel', async () => {
    answer(400, { status: 'invalid event', errors: ["'routing_key' is invalid"] });
    expect(await send(PAGERDUTY)).toMatchObject({ outcome: 'permanent-channel' });
  });

  test('another fault of an event does not', async () => {
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
  test('a limit is told with its window', async () => {
    answer(429, { message: 'TooManyRequests' }, { 'x-ratelimit-period-in-sec': '60' });
    expect(await send(OPSGENIE)).toMatchObject({ outcome: 'retry', retryAfterMs: 60_000 });
  });

  test('a later alert of an incident changes what the open one says', async () => {
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
