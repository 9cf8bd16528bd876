import { createEgressGuard } from '@svc/shared/egress.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { openedIn, receiverIn } from '../../../../test/support/opened.ts';
import { createHttpPost } from '../outgoing/http-post.ts';
import { Deadman } from './deadman.ts';

const MINUTE_MS = 60_000;

test('calls each minute while svc works, and says once that calls fail and once that they succeed again', async (context) => {
  const opened = openedIn(context);
  const receiver = await receiverIn(opened);
  const clock = new FakeClock();
  let isWorking: () => Promise<boolean> = async () => true;
  const lines: string[] = [];
  const log = pino({ level: 'info', base: null, timestamp: false }, { write: (line) => lines.push(line) });
  const deadman = new Deadman({
    url: `${receiver.url.replace('//', '//user:pass%20word@')}/ping/secret-token?x=1`,
    request: createHttpPost({
      clock,
      guard: createEgressGuard({ base: 'agent', deny: [], allow: ['127.0.0.1'] }),
    }),
    isWorking: () => isWorking(),
    clock,
    log,
  });
  /** Lets a minute pass, in which the receiver gets its call number `count`. */
  const calls = async (count: number) => {
    clock.advance(MINUTE_MS);
    await receiver.received(count);
    await deadman.callEnded();
  };
  deadman.start();
  // A coordinator that ends soon after its start has called nobody.
  clock.advance(MINUTE_MS - 1);
  clock.advance(1);
  await receiver.received(1);
  await deadman.callEnded();
  await calls(2);

  for (const answer of [async () => false, () => Promise.reject(new Error('read-only'))]) {
    isWorking = answer;
    clock.advance(MINUTE_MS);
    await deadman.callEnded();
  }
  isWorking = async () => true;
  receiver.answerWith((_request, response) => {
    response.statusCode = 404;
    response.end('secret-token');
  });
  await calls(3);
  await calls(4);
  receiver.answerWith((_request, response) => response.end());
  await calls(5);

  await deadman.stop();
  clock.advance(2 * MINUTE_MS);
  expect(receiver.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
    Array(5).fill('GET /ping/secret-token?x=1'),
  );
  expect(receiver.requests[0]?.headers).toMatchObject({
    'user-agent': 'svc',
    authorization: `Basic ${Buffer.from('user:pass word').toString('base64')}`,
  });
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'SVC_DEADMAN_URL does not accept the calls: svc goes on calling each minute',
    'the calls to SVC_DEADMAN_URL are accepted again',
  ]);
  expect(lines.join()).not.toContain('secret-token');
});
