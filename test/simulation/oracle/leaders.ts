import type { Announcement } from '../told.ts';

/** A coordinator that has taken the lease. */
export type Leader = { readonly term: string };

/** Time for which a former leader may still trust a lease that was ended or set back early, ms. */
const TRUSTED_MS = 3_500;

/**
 * Checks that a former leader does nothing: "a leader that was replaced writes nothing and sends
 * nothing". Also checks that "each take has a term of its own", and that "an alert keeps one id
 * however often it is derived". It knows the lease only by the coordinator that took it last.
 */
export class Leaders {
  readonly #fault: (text: string, at: number) => void;
  readonly #now: () => number;
  /** The coordinator that took the lease last; null: none has taken it. */
  current: Leader | null = null;
  readonly #terms = new Map<string, Leader>();
  /** Instant until which a former leader may trust its lease, monotonic ms. */
  #trustedUntil = Number.NEGATIVE_INFINITY;
  /** The id of each alert by its subject, and the subject of each alert by its id. */
  readonly #ids = new Map<string, string>();
  /** Number of times that each channel was unlinked. An alert after an unlinking is a new alert. */
  readonly #links = new Map<number, number>();

  constructor(fault: (text: string, at: number) => void, now: () => number) {
    this.#fault = fault;
    this.#now = now;
  }

  taken(leader: Leader): void {
    if (this.#terms.has(leader.term)) this.#violated(`the term ${leader.term} is taken a second time`);
    this.#terms.set(leader.term, leader);
    this.current = leader;
  }

  /** Records that a batch of this leader has become durable. */
  written(leader: Leader): void {
    if (leader !== this.current) this.#violated('a former leader has written a batch');
  }

  /** Records that a job or an alert leaves the process of this leader, or may leave it. */
  sends(leader: Leader): void {
    if (leader !== this.current && this.#now() >= this.#trustedUntil)
      this.#violated('a former leader may send jobs and alerts');
  }

  /**
   * Records that the lease ended before the time that its holder
   * was given, so the holder may still trust it for some time.
   */
  mayBeTrusted(): void {
    this.#trustedUntil = this.#now() + TRUSTED_MS;
  }

  /**
   * Records that the database has lost the last takes of the lease. The
   * take with this term is the last one now; null: no take is left.
   */
  setBack(term: string | null): void {
    this.mayBeTrusted();
    this.current = this.#terms.get(term ?? '') ?? null;
  }

  unlinked(channel: number): void {
    this.#links.set(channel, (this.#links.get(channel) ?? 0) + 1);
  }

  /** Records that the database has lost the commit of an unlinking, which will come again. */
  takesUnlinkingBack(channel: number): void {
    this.#links.set(channel, (this.#links.get(channel) ?? 0) - 1);
  }

  announced({ channel, status, alert, id }: Announcement): void {
    if (alert === undefined || id === undefined) return;
    const about = [channel, this.#links.get(channel) ?? 0, status, alert.incident].join(' ');
    this.#sameAs(`${about} ${alert.at}`, id);
    this.#sameAs(id, about);
  }

  #sameAs(key: string, value: string): void {
    const before = this.#ids.get(key) ?? value;
    if (before !== value) this.#violated(`${key} is ${value}, and was ${before}`);
    this.#ids.set(key, value);
  }

  #violated(text: string): void {
    this.#fault(text, this.#now());
  }
}
