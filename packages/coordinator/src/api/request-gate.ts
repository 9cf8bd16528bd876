import type { Token } from '../store/tokens.ts';
import { peerKey } from '../web/peer-key.ts';
import type { ApiParts } from './api-parts.ts';
import { authenticate, authorize, checkExpiry, unauthorized } from './auth.ts';
import type { Access } from './endpoint.ts';
import { DEFAULT_FAILURE_RATE, DEFAULT_RATE, RateLimit, tooMany } from './rate-limit.ts';

type Parts = Pick<ApiParts, 'tokens' | 'clock' | 'rate' | 'failureRate'>;

/**
 * Decides which requests are admitted: whose they are, whether their token allows them, and whether there are
 * too many.
 */
export class RequestGate {
  readonly #parts: Parts;
  readonly #requests: RateLimit<number>;
  readonly #failures: RateLimit<string>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#requests = new RateLimit(parts.rate ?? DEFAULT_RATE);
    this.#failures = new RateLimit(parts.failureRate ?? DEFAULT_FAILURE_RATE);
  }

  /**
   * Finds the token of a request. A peer that fails often is told to wait, not why it failed. A valid token
   * passes even then: somebody who shares a proxy's address with a stranger must not be blocked because of
   * the stranger.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  identify(authorization: string | undefined, peer: string | null): Token {
    const { tokens, clock } = this.#parts;
    try {
      const token = authenticate(tokens, authorization, clock.wall());
      tokens.noteUse(token.id, clock.wall());
      return token;
    } catch (error) {
      this.failed(peer);
      throw error;
    }
  }

  /**
   * Counts a failure of a peer to say who it is.
   *
   * @throws Problem `rate-limited` when it has failed too often
   */
  failed(peer: string | null): void {
    const seconds = this.#failures.take(peerKey(peer), this.#parts.clock.monotonic());
    if (seconds > 0) throw tooMany('this address sent too many requests without a valid token', seconds);
  }

  /**
   * Takes the token of a session, which the caller has found.
   *
   * @throws Problem `unauthorized`
   */
  identified(token: Token): Token {
    const { tokens, clock } = this.#parts;
    checkExpiry(token, clock.wall());
    this.confirm(token);
    tokens.noteUse(token.id, clock.wall());
    return token;
  }

  /**
   * Checks again that the token is valid. Call it when the body has come, which may take some time: a token
   * that was revoked meanwhile must not create another one.
   *
   * @throws Problem `unauthorized`
   */
  confirm(token: Token): void {
    if (this.#parts.tokens.isRevoked(token)) throw unauthorized('the token is unknown or revoked');
  }

  /**
   * Checks the rate and the scope. A token that sends too many requests is told so even when its scope does
   * not allow them.
   *
   * @throws Problem `rate-limited`, `forbidden`
   */
  admit(token: Token, access: Access): void {
    const seconds = this.#requests.take(token.id, this.#parts.clock.monotonic());
    if (seconds > 0) throw tooMany('this token sent too many requests', seconds);
    authorize(token, access);
  }
}
