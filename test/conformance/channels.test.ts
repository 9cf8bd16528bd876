import type { Channel, SendContext, SendOutcome } from '@svc/coordinator/notify/channel.ts';
import { createChannels, IMPLEMENTED_KINDS, type ImplementedKind } from '@svc/coordinator/notify/registry.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelSettings } from '@svc/shared/channels/settings.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** What a kind of channel promises, beside what all of them do. */
type Case<K extends ImplementedKind> = {
  settings(receiverUrl: string): ChannelSettings[K];
  /** Texts that no error may contain. */
  secrets: string[];
  /** Path, and body for {@link FULL}. */
  path: string;
  payload: unknown;
  /** Verdict per status code. */
  verdicts: Record<number, SendOutcome>;
};

const FULL: Alert = {
  monitor: {
    id: 12,
    name: 'Shop "größte" \u{1F6D2}',
    url: 'https://shop.example/health?a=1&b=2',
    type: 'http',
  },
  status: 'error',
  cronTimestamp: 1_767_225_600_000,
  statusCode: 503,
  latency: 123.4,
  errorMessage: 'status code 503, expected 200',
  at: 1_767_225_601_234,
  reason: 'majority-failed',
  incident: '0b3c:12:1767225600000',
  regions: [{ region: 'hosta-fra', outcome: 'failed' }],
};

const webhookPayload = {
  monitor: { id: 12, name: 'Shop "größte" \u{1F6D2}', url: 'https://shop.example/health?a=1&b=2' },
  cronTimestamp: 1_767_225_600_000,
  status: 'error',
  statusCode: 503,
  latency: 123.4,
  errorMessage: 'status code 503, expected 200',
};

const CASES: { [K in ImplementedKind]: Case<K> } = {
  webhook: {
    settings: (url) => ({
      endpoint: `${url}/hook/path-s3cret?key=query-s3cret`,
      headers: [{ key: 'Authorization', value: 'Bearer header-s3cret' }],
    }),
    secrets: ['query-s3cret', 'path-s3cret', 'header-s3cret'],
    path: '/hook/path-s3cret?key=query-s3cret',
    payload: webhookPayload,
    verdicts: {
      200: 'delivered',
      201: 'delivered',
      202: 'delivered',
      204: 'delivered',
      299: 'delivered',
      301: 'retry',
      302: 'retry',
      304: 'retry',
      307: 'retry',
      400: 'retry',
      401: 'retry',
      403: 'retry',
      404: 'retry',
      408: 'retry',
      409: 'retry',
      410: 'permanent-channel',
      413: 'retry',
      422: 'retry',
      425: 'retry',
      429: 'retry',
      500: 'retry',
      502: 'retry',
      503: 'retry',
      504: 'retry',
      599: 'retry',
    },
  },
};

const context = (signal = new AbortController().signal): SendContext => ({
  deliveryId: 'c0ffee00-0000-4000-8000-000000000001',
  attemptAt: 1_767_225_602_999,
  signal,
});

let receiver: Receiver;

beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe.each(IMPLEMENTED_KINDS)('%s', (kind) => {
  const promised = CASES[kind];
  const channel: Channel<typeof kind> = createChannels(
    createHttpPost({
      clock: new FakeClock(),
      guard: createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] }),
    }),
  )[kind];

  const send = (alert = FULL, signal?: AbortSignal) =>
    channel.send(promised.settings(receiver.url), alert, context(signal));

  test('sends exactly the promised payload, once', async () => {
    expect(await send()).toMatchObject({ outcome: 'delivered' });
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]?.path).toBe(promised.path);
    expect(receiver.requests[0]?.json).toEqual(promised.payload);
  });

  test.each(Object.entries(promised.verdicts).map(([code, verdict]) => [Number(code), verdict] as const))(
    '%i is judged %s, and no secret is repeated',
    async (code, verdict) => {
      receiver.answerWith((request, response) => {
        const body = `${request.path} ${JSON.stringify(request.headers)}`;
        response.writeHead(code).end(code === 204 || code === 304 ? undefined : body);
      });
      const result = await send();
      expect(result).toMatchObject({ outcome: verdict, statusCode: code });
      for (const secret of promised.secrets) expect(JSON.stringify(result)).not.toContain(secret);
      if (result.outcome !== 'delivered') expect(result.error.length).toBeLessThanOrEqual(1_024);
      expect(receiver.requests).toHaveLength(1);
    },
  );

  test('Retry-After is passed on', async () => {
    receiver.answerWith((_request, response) => response.writeHead(429, { 'retry-after': '7' }).end());
    expect(await send()).toMatchObject({ outcome: 'retry', retryAfterMs: 7_000 });
  });

  test('a receiver that breaks the connection is tried again, without a secret in the error', async () => {
    receiver.answerWith((_request, response) => response.destroy());
    const result = await send();
    expect(result.outcome).toBe('retry');
    for (const secret of promised.secrets) expect(JSON.stringify(result)).not.toContain(secret);
  });

  test('the abort is honoured at once', async () => {
    receiver.answerWith(() => {});
    const abort = new AbortController();
    const result = send(FULL, abort.signal);
    await receiver.received(1);
    abort.abort();
    expect((await result).outcome).toBe('retry');
  });

  test.each(['error', 'degraded', 'recovered'] as const)(
    '%s goes out with what applies to it',
    async (status) => {
      const { statusCode: _code, latency: _latency, errorMessage: _message, ...rest } = FULL;
      expect(await send({ ...rest, status })).toMatchObject({ outcome: 'delivered' });
      expect(await send({ ...FULL, status })).toMatchObject({ outcome: 'delivered' });
      expect(receiver.requests).toHaveLength(2);
    },
  );
});

describe('webhook', () => {
  test.each([
    ['as Basic credentials', [], `Basic ${btoa('alerts:user-s3cret')}`],
    ['unless a header says otherwise', [{ key: 'AUTHORIZATION', value: 'Bearer mine' }], 'Bearer mine'],
  ])('user information goes out %s, and is not repeated', async (_, headers, authorization) => {
    const { webhook } = createChannels(
      createHttpPost({
        clock: new FakeClock(),
        guard: createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] }),
      }),
    );
    receiver.answerWith((request, response) => {
      response.writeHead(500).end(`${JSON.stringify(request.headers)} alerts user-s3cret`);
    });
    const endpoint = receiver.url.replace('//', '//alerts:user%2Ds3cret@');
    const result = await webhook.send({ endpoint, headers }, FULL, context());
    expect(receiver.requests[0]?.headers).toMatchObject({ authorization });
    expect(receiver.requests[0]?.headers.host).not.toContain('alerts');
    expect(result.outcome).toBe('retry');
    for (const secret of ['user-s3cret', 'user%2Ds3cret', btoa('alerts:user-s3cret')]) {
      expect(JSON.stringify(result)).not.toContain(secret);
    }
  });

  test('optional members are left out when they do not apply; ours and the configured headers', async () => {
    const { webhook } = createChannels(
      createHttpPost({
        clock: new FakeClock(),
        guard: createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] }),
      }),
    );
    const alert: Alert = { ...FULL, status: 'recovered', test: true, closure: 'monitor-deleted' };
    delete alert.statusCode;
    delete alert.errorMessage;
    const settings = {
      endpoint: receiver.url,
      headers: [
        { key: 'Content-Type', value: 'application/vnd.example+json' },
        { key: 'X-Secret', value: 'abc' },
        { key: 'Content-Length', value: '3' },
        // Receivers drop by ours what comes twice.
        { key: 'Webhook-Id', value: 'always-the-same' },
      ],
    };
    expect(await webhook.send(settings, alert, context())).toEqual({ outcome: 'delivered', statusCode: 200 });
    const [request] = receiver.requests;
    expect(request?.text).toBe(
      JSON.stringify({
        monitor: webhookPayload.monitor,
        cronTimestamp: webhookPayload.cronTimestamp,
        status: 'recovered',
        latency: 123.4,
      }),
    );
    expect(request?.headers).toMatchObject({
      'content-type': 'application/vnd.example+json',
      'x-secret': 'abc',
      'user-agent': 'svc',
      'webhook-id': 'c0ffee00-0000-4000-8000-000000000001',
      'webhook-timestamp': '1767225602',
      'content-length': String(Buffer.byteLength(request?.text ?? '')),
    });
  });
});
