import type { Clock } from '@svc/shared/clock.ts';
import type { TestAnswer } from './protocol.ts';

/** Tests of endpoints that the thread of the export was asked for, and that it has not answered yet. */
export class EndpointTests {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waiting = new Map<number, (answer: TestAnswer | null) => void>();
  #last = 0;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /**
   * @param send asks the thread, with the number of the request
   * @returns null: there was no answer within `withinMs`, or the thread has ended
   */
  async ask(withinMs: number, send: (request: number) => void): Promise<TestAnswer | null> {
    this.#last += 1;
    const request = this.#last;
    const answered = new Promise<TestAnswer | null>((resolve) => this.#waiting.set(request, resolve));
    const cancel = this.#clock.after(withinMs, () => this.answered(request, null));
    send(request);
    const answer = await answered;
    cancel();
    return answer;
  }

  /** @param answer null: there is none */
  answered(request: number, answer: TestAnswer | null): void {
    this.#waiting.get(request)?.(answer);
    this.#waiting.delete(request);
  }

  /** The thread has ended. */
  ended(): void {
    for (const request of [...this.#waiting.keys()]) this.answered(request, null);
  }
}
