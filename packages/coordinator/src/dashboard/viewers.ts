import type { Clock } from '@svc/shared/clock.ts';
import type { Token, Tokens } from '../store/tokens.ts';
import { cookieOf, removeCookie, setCookie } from '../web/cookies.ts';
import type { Sessions } from '../web/sessions.ts';
import type { Visit } from '../web/site.ts';

/** Name of the cookie of a session. */
const SESSION_COOKIE = 'svc-session';
/** Longest life of a session, ms. */
const SESSION_LIFE_MS = 7 * 86_400_000;
/** A session belongs to a token, which has no versions: a token that is revoked never comes back. */
const CREDENTIAL = '';

type ViewersParts = { readonly sessions: Sessions; readonly tokens: Tokens; readonly clock: Clock };

/** Somebody who is logged in: the token, and the secret of the session. */
export type LoggedIn = { readonly token: Token; readonly secret: string };

/** The sessions of the dashboard. A session can do what its token can, as long as the token is valid. */
export class Viewers {
  readonly #parts: ViewersParts;

  constructor(parts: ViewersParts) {
    this.#parts = parts;
  }

  /** Null: nobody is logged in. @throws StoreError */
  async find(visit: Visit): Promise<LoggedIn | null> {
    const { sessions, tokens, clock } = this.#parts;
    const cookie = cookieOf(visit, SESSION_COOKIE);
    const session = cookie === null ? null : await sessions.find(cookie);
    const id = /^token:(\d+)$/.exec(session?.subject ?? '')?.[1];
    if (session === null || id === undefined) return null;
    const token = tokens.find(Number(id));
    if (token === null || (token.expiresAt !== null && token.expiresAt <= clock.wall())) return null;
    return { token, secret: session.secret };
  }

  /**
   * Opens a new session, and ends the one of the visit's cookie.
   *
   * @returns the `Set-Cookie` header
   * @throws StoreError
   */
  async open(visit: Visit, token: Token): Promise<string> {
    const { sessions, clock } = this.#parts;
    await this.#endOf(visit);
    const left = (token.expiresAt ?? Number.POSITIVE_INFINITY) - clock.wall();
    const lifeMs = Math.max(0, Math.floor(Math.min(SESSION_LIFE_MS, left)));
    const { secret } = await sessions.create({
      subject: `token:${token.id}`,
      credential: CREDENTIAL,
      lifeMs,
    });
    return setCookie(visit, SESSION_COOKIE, secret, Math.ceil(lifeMs / 1_000));
  }

  /** Ends the session of the visit's cookie. @returns the `Set-Cookie` header @throws StoreError */
  async close(visit: Visit): Promise<string> {
    await this.#endOf(visit);
    return removeCookie(visit, SESSION_COOKIE);
  }

  async #endOf(visit: Visit): Promise<void> {
    const cookie = cookieOf(visit, SESSION_COOKIE);
    if (cookie !== null) await this.#parts.sessions.end(cookie);
  }
}
