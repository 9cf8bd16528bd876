import { type Rate, TokenBucket } from '../../verdict/rate.ts';

/** Most mailboxes and visitors that are remembered of each kind; the least recently seen ones are forgotten first. */
const MOST_REMEMBERED = 10_000;

/** Mails that visitors may ask for. */
const RATES = {
  /** To one mailbox. */
  mailbox: { perMinute: 3 / 60, burst: 3 },
  /** Of one page. */
  page: { perMinute: 5, burst: 60 },
  /** Of the whole service. */
  service: { perMinute: 30, burst: 200 },
  /** By one visitor, mails that are not sent included. */
  peer: { perMinute: 10 / 60, burst: 10 },
} as const satisfies Readonly<Record<string, Rate>>;

type Bound = keyof typeof RATES;

/**
 * Bounds the mails that strangers can have sent: links to sign in, and confirmations of subscriptions. They share
 * their bounds, so neither is a way around the other.
 */
export class MailLimits {
  readonly #buckets = new Map<Bound, Map<string, TokenBucket>>();

  /**
   * Counts a request of a visitor, whatever becomes of it: so the bound says nothing about an address.
   *
   * @param peer key of the visitor's address
   * @param now monotonic, ms
   * @returns 0, or the time after which the visitor may ask again, ms
   */
  takeOf(peer: string, now: number): number {
    const bucket = this.#bucket('peer', peer);
    const waitMs = bucket.availableAt(now) - now;
    if (waitMs === 0) bucket.take(now);
    return waitMs;
  }

  /**
   * Counts a mail, unless a bound is reached.
   *
   * @param now monotonic, ms
   * @returns the bound that is reached; null: the mail may be sent
   */
  take(
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
    for (const [, bucket] of buckets) bucket.take(now);
    return null;
  }

  #bucket(bound: Bound, key: string): TokenBucket {
    let ofBound = this.#buckets.get(bound);
    if (ofBound === undefined) {
      ofBound = new Map();
      this.#buckets.set(bound, ofBound);
    }
    const bucket = ofBound.get(key) ?? new TokenBucket(RATES[bound]);
    // A map keeps the order of insertion, so the most recently used key is last.
    ofBound.delete(key);
    ofBound.set(key, bucket);
    const [oldest] = ofBound.keys();
    if (ofBound.size > MOST_REMEMBERED && oldest !== undefined) ofBound.delete(oldest);
    return bucket;
  }
}
