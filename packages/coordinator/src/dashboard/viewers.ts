import type { Clock } from '@svc/shared/clock.ts';
import { type Token, type Tokens, tokenVersion } from '../store/access/tokens.ts';
import { cookieOf, removeCookie, setCookie } from '../web/cookies.ts';
import type { Sessions } from '../web/sessions.ts';
import type { Visit } from '../web/site.ts';

/** Name of the session's cookie. */
const SESSION_COOKIE = 'svc-session';
/** Maximum lifetime of a session, ms. */
const SESSION_LIFE_MS = 7 * 86_400_000;
/**
 * Time for which ended sessions are remembered, ms. No answer
 * takes longer: a stream of events ends after 10 minutes.
 */
const ENDED_FOR_MS = 15 * 60_000;

type ViewersParts = { readonly sessions: Sessions; readonly tokens: Tokens; readonly clock: Clock };

/** A logged-in visitor: the token, and the secret of the session. */
export type LoggedIn = { readonly token: Token; readonly secret: string };

/** The sessions of the dashboard. A session has the rights of its token while the token is valid. */
export class Viewers {
  readonly #parts: ViewersParts;
  /**
   * Secrets of sessions that this process ended, each with the time of the end (monotonic ms), oldest first.
   */
  readonly #ended = new Map<string, number>();

  constructor(parts: ViewersParts) {
    this.#parts = parts;
  }

  /**
   * Finds the logged-in visitor of a request; null: there is none.
   *
   * @throws StoreError
   */
  async findViewer(visit: Visit): Promise<LoggedIn | null> {
    const { sessions, tokens } = this.#parts;
    const cookie = cookieOf(visit, SESSION_COOKIE);
    const session = cookie === null ? null : await sessions.findSession(cookie);
    const id = /^token:(\d+)$/.exec(session?.subject ?? '')?.[1];
    if (session === null || id === undefined) return null;
    const token = tokens.find(Number(id));
    if (token === null || session.credential !== tokenVersion(token)) return null;
    return this.isTokenExpired(token) ? null : { token, secret: session.secret };
  }

  /**
   * Whether a session that was found within the last 15 minutes is still open. The check does
   * not read the database, so it does not notice that another coordinator ended the session.
   */
  isSessionOpen({ token, secret }: LoggedIn): boolean {
    return (
      !this.#ended.has(secret) && this.#parts.tokens.find(token.id) !== null && !this.isTokenExpired(token)
    );
  }

  isTokenExpired({ expiresAt }: Token): boolean {
    return expiresAt !== null && expiresAt <= this.#parts.clock.wall();
  }

  /**
   * Opens a new session, and ends the session of the request's cookie.
   *
   * @returns the `Set-Cookie` header
   * @throws StoreError
   */
  async openSession(visit: Visit, token: Token): Promise<string> {
    const { sessions, clock } = this.#parts;
    await this.#endOf(visit);
    const left = (token.expiresAt ?? Number.POSITIVE_INFINITY) - clock.wall();
    const lifeMs = Math.max(0, Math.floor(Math.min(SESSION_LIFE_MS, left)));
    const { secret } = await sessions.createSession({
      subject: `token:${token.id}`,
      credential: tokenVersion(token),
      lifeMs,
    });
    return setCookie(visit, SESSION_COOKIE, secret, Math.ceil(lifeMs / 1_000));
  }

  /**
   * Ends the session of the request's cookie.
   *
   * @returns the `Set-Cookie` header
   * @throws StoreError
   */
  async closeSession(visit: Visit): Promise<string> {
    await this.#endOf(visit);
    return removeCookie(visit, SESSION_COOKIE);
  }

  async #endOf(visit: Visit): Promise<void> {
    const { sessions, clock } = this.#parts;
    const cookie = cookieOf(visit, SESSION_COOKIE);
    const session = cookie === null ? null : await sessions.findSession(cookie);
    if (session === null) return;
    await sessions.endSession(session.secret);
    const now = clock.monotonic();
    for (const [secret, at] of this.#ended) if (at <= now - ENDED_FOR_MS) this.#ended.delete(secret);
    this.#ended.set(session.secret, now);
  }
}
