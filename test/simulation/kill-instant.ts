import type { Flight } from './slow-store.ts';
import type { Move } from './world.ts';

/**
 * Returns the time until the coordinator that writes a batch is killed, ms: in the middle
 * of the part of the write that the move names. Null: this part is over, or does not exist.
 *
 * @param now monotonic ms
 */
export function killAfterMs(
  { begunAt, durableAt, answeredAt }: Flight,
  { isBeforeCommit, isUnanswered }: Move & { do: 'restart' },
  now: number,
): number | null {
  const [from, until] = isBeforeCommit
    ? [begunAt, durableAt - 1]
    : isUnanswered
      ? [durableAt + 1, answeredAt - 1]
      : [answeredAt + 1, answeredAt + 1];
  if (from > until || until < now) return null;
  const earliest = Math.max(now, from);
  return Math.floor(earliest + (until - earliest) / 2) - now;
}
