import { type Rate, TokenBucket } from '../../verdict/rate.ts';
import { RecentMap } from '../../web/recent-map.ts';

/** Number of wrong passwords at which a visitor must wait for the first time. */
const FREE = 3;
/** First wait of a visitor, ms. Each further wrong password doubles the wait. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Time after the last guess at which a visitor's wrong passwords are forgotten, ms. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/**
 * Maximum rate of wrong passwords for one page, from all visitors together who never sent its right password.
 */
const OF_A_PAGE = { perMinute: 30, burst: 30 };
/**
 * Maximum number of visitors, pages or mailboxes that each bound
 * remembers. The least recently seen one is forgotten first.
 */
const MOST_REMEMBERED = 10_000;

type Visitor = {
  wrong: number;
  /** When the last guess was compared, monotonic ms. */
  at: number;
  isKnown: boolean;
};

/**
 * The result of a guess. `early`: the guess was not compared, because the visitor must wait `waitMs` longer.
 */
export type Guess =
  | { readonly is: 'right' }
  | { readonly is: 'wrong' }
  | { readonly is: 'early'; readonly waitMs: number };

/**
 * Bounds the guesses at the passwords of pages. The wait of a visitor grows with the
 * number of wrong guesses. A page has a common bound for all visitors, so that guesses
 * from many addresses are no faster. The common bound does not apply to visitors who
 * sent the right password before: otherwise strangers could lock them out.
 *
 * The counts are in memory. They are lost at a restart, and each coordinator counts by itself.
 */
export class PasswordGuesses {
  readonly #visitors = new RecentMap<string, Visitor>(MOST_REMEMBERED);
  readonly #pages = new RecentMap<number, TokenBucket>(MOST_REMEMBERED);

  /**
   * Compares and counts a guess in one turn of the event
   * loop, so that concurrent guesses cannot pass the bounds.
   *
   * @param peer key of the visitor's network address
   * @param now monotonic, ms
   * @param isRight compares the guess. It is called only if the guess may be compared
   */
  countGuess(pageId: number, peer: string, now: number, isRight: () => boolean): Guess {
    const key = `${pageId} ${peer}`;
    const visitor = this.#visitor(key, now);
    const page = this.#pages.get(pageId) ?? new TokenBucket(OF_A_PAGE);
    this.#pages.set(pageId, page);
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
    if (!visitor.isKnown) page.takeToken(now);
    return { is: 'wrong' };
  }

  #visitor(key: string, now: number): Visitor {
    const known = this.#visitors.get(key);
    if (known === undefined) return { wrong: 0, at: Number.NEGATIVE_INFINITY, isKnown: false };
    return now - known.at > FORGOTTEN_AFTER_MS ? { ...known, wrong: 0 } : known;
  }
}

/** Returns how long a visitor must wait after this number of wrong guesses, ms. */
function waitAfter(wrong: number): number {
  return wrong < FREE ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (wrong - FREE), LONGEST_WAIT_MS);
}

/** Maximum rates of the mails that visitors may request. */
const RATES = {
  /** Rate of mails to one mailbox. */
  mailbox: { perMinute: 3 / 60, burst: 3 },
  /** Rate of mails from one page. */
  page: { perMinute: 5, burst: 60 },
  /** Rate of mails from the whole service. */
  service: { perMinute: 30, burst: 200 },
  /** Rate of requests by one visitor. A request for which no mail is sent counts too. */
  peer: { perMinute: 10 / 60, burst: 10 },
} as const satisfies Readonly<Record<string, Rate>>;

type Bound = keyof typeof RATES;

/**
 * Bounds the mails that strangers can request: sign-in links, and confirmations of subscriptions.
 * Both kinds count together, so that the second kind is no way around the bounds of the first.
 */
export class MailLimits {
  readonly #buckets: Readonly<Record<Bound, RecentMap<string, TokenBucket>>> = {
    mailbox: new RecentMap(MOST_REMEMBERED),
    page: new RecentMap(MOST_REMEMBERED),
    service: new RecentMap(MOST_REMEMBERED),
    peer: new RecentMap(MOST_REMEMBERED),
  };

  /**
   * Counts a visitor's request for a mail, unless the bound is reached. A request for which
   * no mail is sent counts too, so a reached bound reveals nothing about a mail address.
   *
   * @param peer key of the visitor's network address
   * @param now monotonic, ms
   * @returns 0: the request is allowed; otherwise the time until the next request is allowed, ms
   */
  countRequest(peer: string, now: number): number {
    const bucket = this.#bucket('peer', peer);
    const waitMs = bucket.availableAt(now) - now;
    if (waitMs === 0) bucket.takeToken(now);
    return waitMs;
  }

  /**
   * Counts a mail unless a bound is reached.
   *
   * @param now monotonic, ms
   * @returns the bound that is reached; null: the mail may be sent
   */
  countMail(
    { pageId, mailbox }: { readonly pageId: number; readonly mailbox: string },
    now: number,
  ): Bound | null {
    const buckets = [
      ['mailbox', this.#bucket('mailbox', mailbox)],
      ['page', this.#bucket('page', String(pageId))],
      ['service', this.#bucket('service', '')],
    ] as const;
    const reached = buckets.find(([, bucket]) => bucket.availableAt(now) > now);
    if (reached !== undefined) return reached[0];
    for (const [, bucket] of buckets) bucket.takeToken(now);
    return null;
  }

  #bucket(bound: Bound, key: string): TokenBucket {
    const bucket = this.#buckets[bound].get(key) ?? new TokenBucket(RATES[bound]);
    this.#buckets[bound].set(key, bucket);
    return bucket;
  }
}
