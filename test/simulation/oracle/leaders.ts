import type { Announcement } from '../told.ts';

/** A leader: one that has taken the lease. */
export type Leader = { readonly term: string };

/** A lease that has expired or was set back before its time may still be trusted for so long, ms. */
const TRUSTED_MS = 3_500;

/**
 * Judges who leads: "a leader that was replaced writes nothing and sends nothing", "each take has a term of its own", and
 * "an alert keeps one id however often it is derived". It knows the lease only by who took it last.
 */
export class Leaders {
  readonly #fault: (text: string, at: number) => void;
  readonly #now: () => number;
  /** Who has taken the lease last; null: nobody. */
  current: Leader | null = null;
  readonly #terms = new Map<string, Leader>();
  /** Until when a former leader may rightly trust its lease, monotonic ms. */
  #trustedUntil = Number.NEGATIVE_INFINITY;
  /** The id of each alert by what it is about, and the other way round. */
  readonly #ids = new Map<string, string>();
  /** How often each channel was unlinked: what it is told afterwards is new. */
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

  /** A batch has become durable. */
  written(leader: Leader): void {
    if (leader !== this.current) this.#violated('a former leader has written a batch');
  }

  /** A job or an alert leaves the process, or might. */
  sends(leader: Leader): void {
    if (leader !== this.current && this.#now() >= this.#trustedUntil)
      this.#violated('a former leader may send jobs and alerts');
  }

  /** The lease was taken from its holder before the time that the holder was given. */
  mayBeTrusted(): void {
    this.#trustedUntil = this.#now() + TRUSTED_MS;
  }

  /** The database has lost takes of the lease: the one with this term is the last now. */
  setBack(term: string | null): void {
    this.mayBeTrusted();
    this.current = this.#terms.get(term ?? '') ?? null;
  }

  unlinked(channel: number): void {
    this.#links.set(channel, (this.#links.get(channel) ?? 0) + 1);
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
