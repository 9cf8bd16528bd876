import type { Token } from '../store/tokens.ts';
import { authenticate, authorize, unauthorized } from './auth.ts';
import type { ApiDependencies } from './dependencies.ts';
import type { Access } from './endpoint.ts';
import { peerKey } from './peers.ts';
import { Problem } from './problem.ts';
import { DEFAULT_FAILURE_RATE, DEFAULT_RATE, RateLimit } from './rate-limit.ts';

type Parts = Pick<ApiDependencies, 'tokens' | 'clock' | 'rate' | 'failureRate'>;

/** Who is let in: whose request it is, whether it may do that, and whether too many came. */
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
   * A peer that fails often is told to wait instead of why. A valid token passes also then: whoever shares a
   * proxy's address with a stranger must not be shut out by him.
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
      const seconds = this.#failures.take(peerKey(peer), clock.monotonic());
      if (seconds === 0) throw error;
      throw tooMany('more requests without a valid token than one address may send', seconds);
    }
  }

  /**
   * To be called when the body has come, which may take its time: a token that was revoked meanwhile must not make
   * another one after that.
   *
   * @throws Problem `unauthorized`
   */
  confirm(token: Token): void {
    if (this.#parts.tokens.isRevoked(token)) throw unauthorized('the token is unknown or revoked');
  }

  /**
   * Whoever sends too much is told so also when the token does not allow what is sent.
   *
   * @throws Problem `rate-limited`, `forbidden`
   */
  admit(token: Token, access: Access): void {
    const seconds = this.#requests.take(token.id, this.#parts.clock.monotonic());
    if (seconds > 0) throw tooMany('more requests than the token may send', seconds);
    authorize(token, access);
  }
}

function tooMany(what: string, seconds: number): Problem {
  return new Problem('rate-limited', `${what}; try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}
