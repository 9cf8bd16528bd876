import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { type Behaviour, startRawTarget } from '../../../../test/support/raw-target.ts';
import { exchange } from './exchange.ts';

async function askedOf(url: string) {
  const clock = new FakeClock();
  const sent = { method: 'GET', url, headers: { authorization: 'Bearer t' }, body: null };
  const signal = new AbortController().signal;
  const result = await exchange(sent, { clock, timeoutMs: 30_000, answerBytes: 1_000, signal });
  expect(clock.pendingTimers).toBe(0);
  return result;
}

async function answeredBy(behaviour: Behaviour) {
  const target = await startRawTarget(behaviour);
  onTestFinished(() => target.close());
  return askedOf(`${target.url}/`);
}

describe('a connection that ends early', () => {
  const cut = {
    kind: 'unanswered',
    failure: 'broken',
    mayHaveArrived: true,
    message: 'the connection was cut before the answer was complete',
  };

  test.each([
    ['before the answer', (socket) => socket.resetAndDestroy()],
    ['in the head', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['in the body', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{')],
    [
      'because it was to become another protocol, which was not asked for',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    ],
  ] as [string, Behaviour][])('%s is told in our own words', async (_case, behaviour) => {
    expect(await answeredBy(behaviour)).toMatchObject(cut);
  });
});
