import { TokenBucket } from '../../verdict/rate.ts';

/** Wrong passwords of one visitor that cost no wait. */
const FREE = 3;
/** The wait after the next wrong one, ms. Each further one doubles it. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Time after which a visitor's wrong passwords are forgotten, ms. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** Wrong passwords for one page, of all visitors that never had a right one. */
const OF_A_PAGE = { perMinute: 30, burst: 30 };
/** Most visitors, and most pages, that are remembered: the least recently seen ones are forgotten first. */
const MOST_REMEMBERED = 10_000;

type Visitor = {
  wrong: number;
  /** On the monotonic clock. */
  at: number;
  isKnown: boolean;
};

/** What became of a guess. `waitMs`: the guess was not looked at, and how long the next one must wait. */
export type Guess =
  | { readonly is: 'right' }
  | { readonly is: 'wrong' }
  | { readonly is: 'early'; readonly waitMs: number };

/**
 * Bounds the guesses at the passwords of pages. The wait of a visitor grows with its wrong guesses. A page has a bound
 * for all visitors together, so that many addresses guess no faster than some; it does not hold for a visitor who
 * had the right password before, whom strangers would lock out otherwise.
 *
 * It lies in memory: a restart forgets it, and each coordinator counts for itself.
 */
export class Guessing {
  readonly #visitors = new Recent<Visitor>();
  readonly #pages = new Recent<TokenBucket>();

  /**
   * Looks at a guess, and counts it. There is no turn of the event loop between the two, so guesses that come at the
   * same time are counted like others.
   *
   * @param peer key of the visitor's address
   * @param now monotonic, ms
   * @param isRight compares; it is called only where the guess may be looked at
   */
  guess(pageId: number, peer: string, now: number, isRight: () => boolean): Guess {
    const key = `${pageId} ${peer}`;
    const visitor = this.#visitor(key, now);
    const page = this.#pages.get(String(pageId)) ?? new TokenBucket(OF_A_PAGE);
    this.#pages.set(String(pageId), page);
    const readyAt = Math.max(
      visitor.at + waitAfter(visitor.wrong),
      visitor.isKnown ? now : page.availableAt(now),
    );
    if (readyAt > now) return { is: 'early', waitMs: readyAt - now };
    const right = isRight();
    this.#visitors.set(key, {
      wrong: right ? 0 : visitor.wrong + 1,
      at: now,
      isKnown: right || visitor.isKnown,
    });
    if (right) return { is: 'right' };
    if (!visitor.isKnown) page.take(now);
    return { is: 'wrong' };
  }

  #visitor(key: string, now: number): Visitor {
    const known = this.#visitors.get(key);
    if (known === undefined) return { wrong: 0, at: Number.NEGATIVE_INFINITY, isKnown: false };
    return now - known.at > FORGOTTEN_AFTER_MS ? { ...known, wrong: 0 } : known;
  }
}

/** The wait after so many wrong guesses, ms. */
function waitAfter(wrong: number): number {
  return wrong < FREE ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (wrong - FREE), LONGEST_WAIT_MS);
}

/** A map that forgets what was not used for the longest time. */
class Recent<T> {
  readonly #entries = new Map<string, T>();

  get(key: string): T | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: T): void {
    // A map keeps the order of insertion, so the most recently used key is last.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= MOST_REMEMBERED) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
