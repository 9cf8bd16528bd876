import type { Phases } from '@svc/shared/messages/check-result.ts';

export type Phase = keyof Phases;

/**
 * Splits one attempt into phases without gaps. All time belongs to the phase that was entered last, so
 * the phases add up to the latency. If an attempt has several hops, the times of each phase are added.
 */
export class Stopwatch {
  readonly #startedAt = performance.now();
  #enteredAt = this.#startedAt;
  #phase: Phase | undefined;
  readonly #phases: Phases = {};

  /**
   * The phase that was entered last; undefined before the first phase.
   * The time before the first phase belongs to the first phase.
   */
  get phase(): Phase | undefined {
    return this.#phase;
  }

  enter(phase: Phase): void {
    if (this.#phase !== undefined) this.#mark(this.#phase);
    this.#phase = phase;
  }

  /** Returns the latency and the phases up to now, ms, not rounded. A later call includes later time. */
  read(): { latency: number; phases: Phases } {
    if (this.#phase === undefined) return { latency: performance.now() - this.#startedAt, phases: {} };
    this.#mark(this.#phase);
    return { latency: this.#enteredAt - this.#startedAt, phases: { ...this.#phases } };
  }

  #mark(phase: Phase): void {
    const now = performance.now();
    this.#phases[phase] = (this.#phases[phase] ?? 0) + now - this.#enteredAt;
    this.#enteredAt = now;
  }
}
