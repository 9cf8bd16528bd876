import type { Clock } from '@svc/shared/clock.ts';
import { hasLink, insertLink, takeLink } from '../store/access/sessions.ts';
import type { Store, Transaction } from '../store/store.ts';
import { hashOfSecret, randomSecret } from './sessions.ts';

/** The permission that a link gives, as a text that the caller defines, such as `login:<token id>`. */
type Purpose = string;

type LinkOptions = {
  readonly detail?: string;
  readonly lifeMs: number;
  also?(tx: Transaction): Promise<void>;
};

/**
 * Links that work once, for a limited time. The page of a link only shows a button, and the button uses up
 * the link. Opening the page does not use up the link, because some programs open all links in mails to look
 * for malware.
 */
export class OneTimeLinks {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  /**
   * Makes a link.
   *
   * @param detail data that {@link useLink} returns, such as a mail address
   * @param also called in the same transaction, for further writes
   * @returns the secret for the link's URL
   * @throws StoreError
   */
  async createLink(purpose: Purpose, { detail = '', lifeMs, also }: LinkOptions): Promise<string> {
    const now = Math.floor(this.#clock.wall());
    const secret = randomSecret();
    const link = { purpose, detail, expiresAt: now + lifeMs };
    await this.#store.transaction(async (tx) => {
      await insertLink(tx, hashOfSecret(secret), link, now);
      await also?.(tx);
    });
    return secret;
  }

  /**
   * Uses up a link. Only one of two concurrent callers gets the link.
   *
   * @returns the purpose and detail of the link; null: the link is unknown, used or too old
   * @throws StoreError
   */
  async useLink(secret: string): Promise<{ purpose: Purpose; detail: string } | null> {
    if (!/^[\w-]{43}$/.test(secret)) return null;
    // Anybody may try secrets, so only an existing link costs a transaction.
    if (!(await hasLink(this.#store, hashOfSecret(secret)))) return null;
    const link = await this.#store.transaction((tx) => takeLink(tx, hashOfSecret(secret)));
    return link === null || link.expiresAt <= this.#clock.wall() ? null : link;
  }
}
