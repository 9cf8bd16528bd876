import { reasonOf } from './attempts.ts';
import type { SendResult } from './channel.ts';
import type { ChannelQueue } from './channel-queue.ts';

/** Time between two answers that call an address dead after which it counts as dead, ms. */
const DOUBT_MS = 5 * 60_000;

/** When an attempt was made. Both instants are of the monotonic clock. */
export type Attempted = { readonly startedAt: number; readonly endedAt: number };

/**
 * Notes what an answer says about the channel: its pace, whether it works, whether its address is dead.
 *
 * @param random uniform in [0, 1), for the spread of waits
 * @returns the result in the light of earlier answers: a second doubt about an address stops the channel
 */
export function learn(
  queue: ChannelQueue,
  result: SendResult,
  { startedAt, endedAt }: Attempted,
  random: () => number,
): SendResult {
  const { pace } = queue;
  switch (result.outcome) {
    case 'delivered':
      pace.taken(endedAt, startedAt);
      queue.isProven = true;
      if (result.kept !== undefined) queue.keep(result.kept);
      queue.doubtedAt = null;
      return result;
    case 'retry': {
      if (reasonOf(result) === 'rate-limited') {
        pace.refused(endedAt, startedAt, result.retryAfterMs, random());
        return result;
      }
      queue.isProven = false;
      if (result.retryAfterMs !== undefined) pace.hold(endedAt, result.retryAfterMs, random());
      if (result.mayBeDead !== true) return result;
      queue.doubtedAt ??= endedAt;
      if (endedAt - queue.doubtedAt < DOUBT_MS) return result;
      const { mayBeDead: _mayBe, retryAfterMs: _wait, ...answer } = result;
      return learn(queue, { ...answer, outcome: 'permanent-channel' }, { startedAt, endedAt }, random);
    }
    case 'permanent-channel':
      // At once, not with the record: what is ready would be sent meanwhile.
      queue.stop(result.error);
      return result;
    case 'permanent-message':
    case 'not-sent':
      return result;
    default:
      return result satisfies never;
  }
}

/** An answer to settings that were changed meanwhile: it does not say that the address of now is dead. */
export function ofFormer(result: SendResult): SendResult {
  if (result.outcome !== 'permanent-channel') return result;
  return { ...result, outcome: 'retry' };
}
