import { REGIONS } from '@svc/shared/regions.ts';
import { AnswerTime } from './answer-time.ts';
import type { Job } from './job.ts';

/**
 * Wait after the first offer without an answer, ms; it doubles with every further one. The way to the region and back
 * comes on top of it.
 */
const FIRST_REOFFER_MS = 500;

type Offered = Pick<Job, 'regionIndex' | 'state' | 'offers' | 'offeredAt'>;

/** How long answers to offers are awaited: longer where a region is far away. */
export class OfferTimes {
  /** Per region in the fixed order. */
  readonly #answerTimes: readonly AnswerTime[] = REGIONS.map(() => new AnswerTime());

  /** Wait after the present offer of the job before the next one, ms. */
  waitMs({ regionIndex, offers }: Offered): number {
    return FIRST_REOFFER_MS * 2 ** (offers - 1) + this.tripMs(regionIndex);
  }

  /** An agent has answered an offer of the job. */
  answered({ regionIndex, state, offeredAt }: Offered, now: number): void {
    if (state === 'offered') this.#of(regionIndex).answered(now - offeredAt, now);
  }

  /** Whether an answer to the first offer would have come by now. */
  hadTime({ regionIndex, offeredAt }: Offered, now: number): boolean {
    return now - offeredAt >= FIRST_REOFFER_MS + this.#of(regionIndex).ms;
  }

  /** How long answers take at the least, ms; 0: that is not known. */
  tripMs(regionIndex: number): number {
    const trip = this.#of(regionIndex);
    return trip.isKnown ? trip.ms : 0;
  }

  #of(regionIndex: number): AnswerTime {
    return this.#answerTimes[regionIndex] as AnswerTime;
  }
}
