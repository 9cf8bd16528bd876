import { beforeEach, describe, expect, test } from 'vitest';
import type { SendResult } from './channel.ts';
import { ChannelQueue } from './channel-queue.ts';
import { learn, ofFormer } from './learning.ts';

const MINUTE = 60_000;
const DOUBT: SendResult = { outcome: 'retry', error: 'kicked', statusCode: 403, mayBeDead: true };

let queue: ChannelQueue;
beforeEach(() => {
  queue = new ChannelQueue(1);
  queue.found = {
    workspaceId: 1,
    kind: 'webhook',
    stoppedFor: null,
    groupsAlerts: true,
    kept: null,
    open: () => {
      throw new TypeError('not needed');
    },
  };
});

const after = (result: SendResult, at: number) =>
  learn(queue, result, { startedAt: at - 10, endedAt: at }, () => 0);

describe('a success', () => {
  test('proves that the channel works, ends doubts, and what it keeps is kept', () => {
    after(DOUBT, 1_000);
    expect([queue.isProven, queue.doubtedAt]).toEqual([false, 1_000]);
    after({ outcome: 'delivered', kept: 'chat 7' }, 2_000);
    expect([queue.isProven, queue.doubtedAt, queue.found?.kept]).toEqual([true, null, 'chat 7']);
    after({ outcome: 'delivered' }, 3_000);
    expect(queue.found?.kept).toBe('chat 7');
  });
});

describe('a failure', () => {
  test('takes the proof, and a wait that it asks for holds the whole channel', () => {
    after({ outcome: 'delivered' }, 1_000);
    const down: SendResult = { outcome: 'retry', error: 'down', statusCode: 503, retryAfterMs: 7_000 };
    expect(after(down, 2_000)).toBe(down);
    expect([queue.isProven, queue.readyAt(2_000)]).toEqual([false, 9_000]);
  });

  test('without a wait holds nothing', () => {
    after({ outcome: 'retry', error: 'down', statusCode: 503 }, 2_000);
    expect(queue.readyAt(2_000)).toBeLessThanOrEqual(2_000);
  });

  test('that only says later leaves the proof, and slows the channel down', () => {
    after({ outcome: 'delivered' }, 1_000);
    after({ outcome: 'retry', error: 'slow', statusCode: 429, retryAfterMs: 500 }, 2_000);
    expect([queue.isProven, queue.readyAt(2_000)]).toEqual([true, 2_500]);
    after({ outcome: 'retry', error: 'slow', statusCode: 429 }, 4_000);
    expect(queue.readyAt(4_000)).toBeGreaterThanOrEqual(5_000);
  });

  test.each(['permanent-message', 'not-sent'] as const)('%s says nothing of the channel', (outcome) => {
    after({ outcome: 'delivered' }, 1_000);
    after({ outcome, error: 'a' }, 2_000);
    expect([queue.isProven, queue.isStopped, queue.readyAt(2_000) <= 2_000]).toEqual([true, false, true]);
  });

  test('of the address stops the channel at once', () => {
    after({ outcome: 'permanent-channel', error: 'gone', statusCode: 410 }, 1_000);
    expect([queue.isStopped, queue.found?.stoppedFor]).toEqual([true, 'gone']);
  });
});

describe('an answer that may be wrong about a dead address', () => {
  test('counts when it comes again five minutes later, and not before', () => {
    expect(after(DOUBT, 0)).toBe(DOUBT);
    expect(after(DOUBT, 5 * MINUTE - 1)).toBe(DOUBT);
    expect(queue.isStopped).toBe(false);
    expect(after(DOUBT, 5 * MINUTE)).toEqual({
      outcome: 'permanent-channel',
      error: 'kicked',
      statusCode: 403,
    });
    expect(queue.isStopped).toBe(true);
  });

  test('counts anew after a delivery', () => {
    after(DOUBT, 0);
    after({ outcome: 'delivered' }, MINUTE);
    expect(after(DOUBT, 6 * MINUTE).outcome).toBe('retry');
    expect(after(DOUBT, 11 * MINUTE).outcome).toBe('permanent-channel');
  });

  test('other failures in between neither end nor prove it', () => {
    after(DOUBT, 0);
    expect(after({ outcome: 'retry', error: 'down', statusCode: 503 }, 6 * MINUTE).outcome).toBe('retry');
    expect(after(DOUBT, 7 * MINUTE).outcome).toBe('permanent-channel');
  });
});

test('an answer to former settings does not stop the channel', () => {
  expect(ofFormer({ outcome: 'permanent-channel', error: 'gone' })).toEqual({
    outcome: 'retry',
    error: 'gone',
  });
  for (const result of [{ outcome: 'delivered' }, DOUBT] as SendResult[])
    expect(ofFormer(result)).toBe(result);
});
