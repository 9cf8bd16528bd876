import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { findSession, insertSession, removeSession, removeSessionsOf } from '../store/access/sessions.ts';
import type { Store } from '../store/store.ts';

/** The subject of a session: an API token in the dashboard, or access to a status page. */
export type SessionSubject = `token:${number}` | `page:${number}`;

export type Session = {
  readonly subject: SessionSubject;
  /**
   * Version of the credential that opened the session, as a text that the caller defines. The caller must
   * reject the session when the credential has another version now, for example after a change of the
   * password.
   */
  readonly credential: string;
  /** When the session began, epoch ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** A session with its secret. Only the visitor's cookie keeps the secret. */
export type OpenSession = Session & { readonly secret: string };

type Opening = Pick<Session, 'subject' | 'credential'> & { readonly lifeMs: number };

/** A random secret of 256 bits for cookies and links: 43 characters of base64url. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The hash of a random secret. The database keeps the hash instead of the secret. One round is enough,
 * because the secret cannot be guessed.
 */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** The sessions of visitors. Each login makes a new session, so a planted session cookie becomes invalid. */
export class Sessions {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  /** @throws StoreError */
  async createSession({ subject, credential, lifeMs }: Opening): Promise<OpenSession> {
    const now = Math.floor(this.#clock.wall());
    const secret = randomSecret();
    const session = { subject, credential, createdAt: now, expiresAt: now + lifeMs };
    await this.#store.transaction((tx) => insertSession(tx, hashOfSecret(secret), session, now));
    return { ...session, secret };
  }

  /**
   * Finds the session of a cookie's secret; null: there is no such session, or it has ended.
   *
   * @throws StoreError
   */
  async findSession(secret: string): Promise<OpenSession | null> {
    if (!/^[\w-]{43}$/.test(secret)) return null;
    const row = await findSession(this.#store, hashOfSecret(secret));
    if (row === null || row.expiresAt <= this.#clock.wall()) return null;
    return { ...row, subject: row.subject as SessionSubject, secret };
  }

  /**
   * Ends a session if it exists.
   *
   * @throws StoreError
   */
  async endSession(secret: string): Promise<void> {
    await this.#store.transaction((tx) => removeSession(tx, hashOfSecret(secret)));
  }

  /**
   * Ends every session of a subject.
   *
   * @throws StoreError
   */
  async endSessionsOf(subject: SessionSubject): Promise<void> {
    await this.#store.transaction((tx) => removeSessionsOf(tx, subject));
  }
}
