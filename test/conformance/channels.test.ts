import { SENDING_KINDS, type SendingKind } from '@svc/coordinator/notify/registry.ts';
import { channelProblems, type StoredChannel, type StoredChannelOf } from '@svc/coordinator/notify/sender.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../support/channel-sending.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Case } from './channels/case.ts';
import { CASES } from './channels/cases.ts';

let receiver: Receiver;

beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe.each(SENDING_KINDS)('%s', keepsItsPromises);

function keepsItsPromises<K extends SendingKind>(kind: K): void {
  const promised: Case<K> = CASES[kind];
  const operator = () => promised.operator?.(receiver.url) ?? {};
  const channel = (): StoredChannelOf<K> => ({
    kind,
    settings: new Secret(promised.settings(receiver.url)),
  });
  const send = (alert = FULL_ALERT, signal?: AbortSignal) =>
    loopbackSender(operator())(channel(), alert, sendContext(signal));

  test('has no problem with the settings of the operator that its case has', () => {
    expect(channelProblems(operator())(kind)).toBeNull();
  });

  test('sends exactly the promised payload, once', async () => {
    expect(await send()).toMatchObject({ outcome: 'delivered' });
    expect(receiver.requests).toHaveLength(1);
    const [request] = await receiver.received(1);
    expect(request?.path).toBe(promised.path);
    expect(request && (promised.bodyOf?.(request) ?? request.json)).toEqual(promised.payload);
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
    const result = send(FULL_ALERT, abort.signal);
    await receiver.received(1);
    abort.abort();
    expect((await result).outcome).toBe('retry');
  });

  test.each(['error', 'degraded', 'recovered'] as const)(
    '%s goes out with what applies to it',
    async (status) => {
      const { statusCode: _code, latency: _latency, errorMessage: _message, ...rest } = FULL_ALERT;
      expect(await send({ ...rest, status })).toMatchObject({ outcome: 'delivered' });
      expect(await send({ ...FULL_ALERT, status })).toMatchObject({ outcome: 'delivered' });
      expect(receiver.requests).toHaveLength(2);
    },
  );
}

const WITHOUT_SENDER = CHANNEL_KINDS.filter((kind) => !(SENDING_KINDS as readonly string[]).includes(kind));

test.each(WITHOUT_SENDER)(
  '%s can be declared, and says that this version cannot send to it',
  async (kind) => {
    const message = `${kind} channels are not available in this version`;
    expect(channelProblems({})(kind)).toEqual({ reason: 'no-sender', message });
    // The settings do not matter: nothing reads them.
    const channel = { kind, settings: new Secret({}) } as unknown as StoredChannel;
    expect(await loopbackSender()(channel, FULL_ALERT, sendContext())).toEqual({
      outcome: 'permanent-message',
      error: message,
    });
  },
);
