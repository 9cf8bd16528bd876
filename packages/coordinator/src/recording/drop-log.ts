import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';

/** Counts what is dropped or wrong, and says so in the log without flooding it. */
export class DropLog<Kind extends string> {
  /** Since the start, per kind. */
  readonly counts: Readonly<Record<Kind, number>>;
  readonly #counts: Record<Kind, number>;
  readonly #warnings: ThrottledLog;

  constructor(kinds: readonly Kind[], clock: Clock, log: Logger) {
    this.#counts = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>;
    this.counts = this.#counts;
    this.#warnings = new ThrottledLog(log, clock);
  }

  /** `details` of the first one and of the first after each quiet time are logged. */
  add(kind: Kind, details: object, message: string, count = 1): void {
    this.#counts[kind] += count;
    this.#warnings.warn(message, { ...details, kind }, { about: kind, count });
  }
}
