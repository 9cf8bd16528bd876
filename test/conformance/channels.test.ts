import { HUMAN_KINDS } from '@svc/coordinator/alerts/registry.ts';
import { channelProblems, type StoredChannelOf } from '@svc/coordinator/alerts/sender.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackParts, loopbackSender, sendContext } from '../support/channel-sending.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Case } from './channels/case.ts';
import { CASES, type PostingKind } from './channels/cases.ts';
import { NOTICES } from './channels/notices.ts';
import { REMINDERS } from './channels/reminders.ts';

let receiver: Receiver;

beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe.each(Object.keys(CASES) as PostingKind[])('%s', keepsItsPromises);

function keepsItsPromises<K extends PostingKind>(kind: K): void {
  const promised: Case<K> = CASES[kind];
  const { taken = 200, takenBody } = promised;
  const takeAll = () => receiver.answerWith((_request, response) => response.writeHead(taken).end(takenBody));
  const operator = () => promised.operator?.(receiver.url) ?? {};
  const channel = (): StoredChannelOf<K> => ({
    kind,
    settings: new Secret(promised.settings(receiver.url)),
  });
  const send = (alert = FULL_ALERT, signal?: AbortSignal) =>
    loopbackSender(operator())(channel(), alert, sendContext(signal));

  test('has no problem with the settings of the operator that its case has', () => {
    const problems = channelProblems(loopbackParts({ operator: operator() }));
    expect(problems(kind, promised.settings(receiver.url))).toBeNull();
  });

  test('sends exactly the promised payload, once', async () => {
    takeAll();
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
        const body = `${request.path} ${JSON.stringify(request.headers)} ${request.text}`;
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
      takeAll();
      const { statusCode: _code, latency: _latency, errorMessage: _message, ...rest } = FULL_ALERT;
      expect(await send({ ...rest, status })).toMatchObject({ outcome: 'delivered' });
      expect(await send({ ...FULL_ALERT, status })).toMatchObject({ outcome: 'delivered' });
      expect(receiver.requests).toHaveLength(2);
    },
  );

  test.runIf(HUMAN_KINDS.includes(kind)).each([...NOTICES, ...REMINDERS])(
    'it goes out: %s',
    async (title, alert) => {
      takeAll();
      expect(await send(alert)).toMatchObject({ outcome: 'delivered' });
      const [request] = await receiver.received(1);
      const text = decodeURIComponent(request?.text ?? '').replaceAll('+', ' ');
      // Media that cannot show the quotes or the picture of the name have others in their place.
      expect(text).toContain(title.slice(0, title.indexOf('Shop')));
    },
  );
}
