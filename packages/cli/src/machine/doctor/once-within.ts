import { type EventEmitter, once } from 'node:events';
import { SvcError } from '@svc/shared/errors.ts';

/** Maximum time for one answer from the network, ms. */
export const ANSWER_MS = 5_000;

/**
 * Resolves when the emitter emits the event.
 *
 * @param signal default: aborts after {@link ANSWER_MS}; several waits in a row may share one signal
 * @throws the emitter's error; SvcError `no-answer` when `signal` aborts
 */
export async function onceWithin(
  emitter: EventEmitter,
  event: string,
  signal = AbortSignal.timeout(ANSWER_MS),
): Promise<void> {
  try {
    await once(emitter, event, { signal });
  } catch (error) {
    if (signal.aborted)
      throw new SvcError('no-answer', `no answer within ${ANSWER_MS / 1_000} s`, { cause: error });
    throw error;
  }
}
