import type { Phases } from '@svc/shared/messages/check-result.ts';

export type Phase = keyof Phases;

/**
 * Splits one attempt into phases without gaps: whatever time passes belongs to the phase entered last,
 * so the phases add up to the latency, and those of several hops to sums per phase.
 */
export class Stopwatch {
  readonly #startedAt = performance.now();
  #enteredAt = this.#startedAt;
  #phase: Phase | undefined;
  readonly #phases: Phases = {};

  /** The phase entered last; what passed before the first one belongs to that one. */
  get phase(): Phase | undefined {
    return this.#phase;
  }

  enter(phase: Phase): void {
    if (this.#phase !== undefined) this.#mark(this.#phase);
    this.#phase = phase;
  }

  /** Everything up to now, ms, unrounded. A later call tells of a later time. */
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
