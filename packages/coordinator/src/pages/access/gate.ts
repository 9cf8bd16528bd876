import type { Clock } from '@svc/shared/clock.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { Reading } from '../../declaration/reading.ts';
import type { StoredPage } from '../../declaration/stored.ts';
import { cookieOf, setCookie } from '../../web/cookies.ts';
import type { Sessions } from '../../web/sessions.ts';
import { peerKey, type Visit } from '../../web/site.ts';
import { credentialVersion, declaredAccess, isPassword, type PageAccess } from './credential.ts';
import { type Guess, PasswordGuesses } from './visitor-limits.ts';

/** How long a visitor stays signed in, days. */
const SESSION_DAYS = 14;
const DAY_S = 86_400;

type Parts = {
  readonly reading: Reading;
  readonly sessions: Sessions;
  readonly clock: Clock;
  /** Key of the versions of credentials, 32 bytes. */
  readonly key: Secret<Uint8Array>;
};

/**
 * The ids of a page. Its other attributes may have changed since they were cached, so they are not passed.
 */
export type GuardedPage = Pick<StoredPage, 'id' | 'workspaceId'>;

/**
 * The decision whether a visitor may read a page.
 *
 * @property access null: the page no longer exists
 * @property waitMs time until the visitor may send another password; 0: at once
 */
export type Admission =
  | { readonly is: 'admitted' }
  | { readonly is: 'refused'; readonly access: PageAccess | null; readonly waitMs: number };

/**
 * Decides who may read a status page: everybody, people who know the password, or people
 * with an address in a mail domain. The stored declaration decides, not a cached page.
 */
export class PageGate {
  readonly #parts: Parts;
  readonly #guessing = new PasswordGuesses();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Decides whether the visitor may read the page and everything below its path.
   * Programs may send the page's password by HTTP Basic (RFC 7617), with any user name.
   *
   * @throws StoreError. If it throws, the caller must not send the page
   */
  async admitVisitor(page: GuardedPage, visit: Visit): Promise<Admission> {
    const access = await this.accessOf(page);
    if (access === null) return { is: 'refused', access: null, waitMs: 0 };
    if (access.type === 'public' || (await this.#hasSession(page, access, visit))) return { is: 'admitted' };
    const given = basicPassword(visit.request.headers.get('authorization'));
    if (access.type !== 'password' || given === null) return { is: 'refused', access, waitMs: 0 };
    const guess = this.tryPassword(page.id, access.password, visit, given);
    if (guess.is === 'right') return { is: 'admitted' };
    return { is: 'refused', access, waitMs: guess.is === 'early' ? guess.waitMs : 0 };
  }

  /**
   * Returns who may read the page, as it is declared now; null: the page no longer exists.
   *
   * @throws StoreError
   */
  async accessOf({ id, workspaceId }: GuardedPage): Promise<PageAccess | null> {
    const page = await this.#parts.reading.findStored('status_pages', { workspaceId }, id, 'open');
    return page === null ? null : declaredAccess(page);
  }

  /**
   * Returns the present {@link credentialVersion} of a page; null: the page no longer exists.
   *
   * @throws StoreError
   */
  async credentialOf(page: GuardedPage): Promise<string | null> {
    const access = await this.accessOf(page);
    return access === null ? null : credentialVersion(this.#parts.key, page.id, access);
  }

  /** Compares a password that a visitor sent, unless the visitor must still wait. */
  tryPassword(pageId: number, password: Secret, visit: Visit, given: string): Guess {
    const now = this.#parts.clock.monotonic();
    return this.#guessing.countGuess(pageId, peerKey(visit.peer), now, () => isPassword(password, given));
  }

  /**
   * Signs a visitor in with a new session. The session of the visitor's
   * cookie ends, because somebody else may have planted that cookie.
   *
   * @returns the `Set-Cookie` header
   * @throws StoreError
   */
  async signIn(page: GuardedPage, access: PageAccess, visit: Visit): Promise<string> {
    await this.#endSession(page, visit);
    const session = await this.#parts.sessions.createSession({
      subject: `page:${page.id}`,
      credential: credentialVersion(this.#parts.key, page.id, access),
      lifeMs: SESSION_DAYS * DAY_S * 1_000,
    });
    return setCookie(visit, cookieName(page), session.secret, SESSION_DAYS * DAY_S);
  }

  /**
   * Ends the visitor's session.
   *
   * @returns the `Set-Cookie` header, which removes the cookie
   * @throws StoreError
   */
  async signOut(page: GuardedPage, visit: Visit): Promise<string> {
    await this.#endSession(page, visit);
    return setCookie(visit, cookieName(page), '', 0);
  }

  async #endSession(page: GuardedPage, visit: Visit): Promise<void> {
    const secret = cookieOf(visit, cookieName(page));
    if (secret !== null) await this.#parts.sessions.endSession(secret);
  }

  async #hasSession(page: GuardedPage, access: PageAccess, visit: Visit): Promise<boolean> {
    const secret = cookieOf(visit, cookieName(page));
    const session = secret === null ? null : await this.#parts.sessions.findSession(secret);
    if (session === null || session.subject !== `page:${page.id}`) return false;
    return session.credential === credentialVersion(this.#parts.key, page.id, access);
  }
}

/**
 * Returns the name of the session cookie. Each page has its
 * own cookie, because several pages may share one host.
 */
function cookieName({ id }: GuardedPage): string {
  return `svc-page-${id}`;
}

/** Returns the password in an `Authorization: Basic` header; null: there is none. */
function basicPassword(authorization: string | null): string | null {
  const encoded = /^Basic +([A-Za-z0-9+/]{1,4096}={0,2}) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon < 0 ? null : text.slice(colon + 1);
}
