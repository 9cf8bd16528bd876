import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { findSession, insertSession, removeSession, removeSessionsOf } from '../store/access/sessions.ts';
import type { Store } from '../store/store.ts';

/** Who a session is for: an API token in the dashboard, or a visitor of a status page. */
export type SessionSubject = `token:${number}` | `page:${number}`;

export type Session = {
  readonly subject: SessionSubject;
  /**
   * Version of the credential that opened the session, as a text of the caller. Where the credential has another
   * version now (a changed password), the caller ends the session.
   */
  readonly credential: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** A session and its secret, which only the visitor's cookie keeps. */
export type OpenSession = Session & { readonly secret: string };

type Opening = Pick<Session, 'subject' | 'credential'> & { readonly lifeMs: number };

/** A secret of 256 random bits for cookies and links, in the characters of base64url. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** What the database keeps of a random secret. One round is enough, because it cannot be guessed. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** The sessions of visitors. Each login makes a new one, so an id that somebody planted is worth nothing. */
export class Sessions {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  /** @throws StoreError */
  async create({ subject, credential, lifeMs }: Opening): Promise<OpenSession> {
    const now = Math.floor(this.#clock.wall());
    const secret = randomSecret();
    const session = { subject, credential, createdAt: now, expiresAt: now + lifeMs };
    await this.#store.transaction((tx) => insertSession(tx, hashOfSecret(secret), session, now));
    return { ...session, secret };
  }

  /**
   * The session of a cookie's value; null: there is none, or it has ended.
   *
   * @throws StoreError
   */
  async find(secret: string): Promise<OpenSession | null> {
    if (!/^[\w-]{43}$/.test(secret)) return null;
    const row = await findSession(this.#store, hashOfSecret(secret));
    if (row === null || row.expiresAt <= this.#clock.wall()) return null;
    return { ...row, subject: row.subject as SessionSubject, secret };
  }

  /** Ends one session, where it exists. @throws StoreError */
  async end(secret: string): Promise<void> {
    await this.#store.transaction((tx) => removeSession(tx, hashOfSecret(secret)));
  }

  /** Ends every session of a subject. @throws StoreError */
  async endAll(subject: SessionSubject): Promise<void> {
    await this.#store.transaction((tx) => removeSessionsOf(tx, subject));
  }
}
