import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { scopeIncludes, type Token, type Tokens } from '../store/access/tokens.ts';
import { RecentMap } from '../web/recent-map.ts';
import { peerKey } from '../web/site.ts';
import type { Access } from './endpoint.ts';
import { Problem } from './problem.ts';

type Parts = {
  readonly tokens: Tokens;
  readonly clock: Clock;
  /** Rate of requests of one token. */
  readonly rate?: Rate;
  /** Rate of requests without a valid token from one peer. */
  readonly failureRate?: Rate;
};

/** Admits or refuses requests by their token, the scope of the token, and the rate of requests. */
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
   * Finds the token of a request. If a peer has failed too often, a further failure is
   * answered with `rate-limited` instead of its own reason. A valid token of that peer is
   * still accepted: a stranger behind the same proxy must not lock out the owner of the token.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  identifyToken(authorization: string | undefined, peer: string | null): Token {
    const { tokens, clock } = this.#parts;
    try {
      const token = authenticate(tokens, authorization, clock.wall());
      tokens.noteUse(token.id, clock.wall());
      return token;
    } catch (error) {
      this.countFailure(peer);
      throw error;
    }
  }

  /**
   * Counts a request without a valid token against its peer.
   *
   * @throws Problem `rate-limited` when the peer has sent too many such requests
   */
  countFailure(peer: string | null): void {
    const seconds = this.#failures.countUse(peerKey(peer), this.#parts.clock.monotonic());
    if (seconds > 0) throw tooMany('this address sent too many requests without a valid token', seconds);
  }

  /**
   * Accepts the token of a dashboard session, if it is still valid.
   *
   * @throws Problem `unauthorized`
   */
  acceptToken(token: Token): Token {
    const { tokens, clock } = this.#parts;
    checkExpiry(token, clock.wall());
    this.confirmToken(token);
    tokens.noteUse(token.id, clock.wall());
    return token;
  }

  /**
   * Checks again that the token is not revoked. Call it after the body is read, which may
   * take some time: a token that was revoked in that time must not create another token.
   *
   * @throws Problem `unauthorized`
   */
  confirmToken(token: Token): void {
    if (this.#parts.tokens.isRevoked(token)) throw unauthorized('the token is unknown or revoked');
  }

  /**
   * Checks the rate first and the scope second, so requests
   * that the scope does not allow count for the rate too.
   *
   * @throws Problem `rate-limited`, `forbidden`
   */
  admitRequest(token: Token, access: Access): void {
    const seconds = this.#requests.countUse(token.id, this.#parts.clock.monotonic());
    if (seconds > 0) throw tooMany('this token sent too many requests', seconds);
    authorize(token, access);
  }
}

/**
 * Finds the token in the header `Authorization: Bearer <token>`.
 *
 * @param now epoch ms
 * @throws Problem `unauthorized` when the header has no valid token
 */
function authenticate(tokens: Tokens, authorization: string | undefined, now: number): Token {
  const secret = bearerOf(authorization);
  if (secret === null) throw unauthorized('send the header `Authorization: Bearer <token>`');
  const token = tokens.lookup(secret);
  if (token === null) throw unauthorized('the token is unknown or revoked');
  checkExpiry(token, now);
  return token;
}

/**
 * Refuses a token that has expired.
 *
 * @param now epoch ms
 * @throws Problem `unauthorized`
 */
function checkExpiry({ expiresAt }: Token, now: number): void {
  if (expiresAt === null || expiresAt > now) return;
  throw unauthorized(`the token expired at ${new Date(expiresAt).toISOString()}`);
}

export function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="svc"' } });
}

/**
 * Refuses a request that the scope of its token does not allow.
 *
 * @throws Problem `forbidden`
 */
function authorize(token: Token, access: Access): void {
  if (access === 'public') return;
  if (access === 'operator') {
    if (!token.isOperator) throw new Problem('forbidden', "this request needs the operator's token");
  } else if (!scopeIncludes(token.scope, access)) {
    throw new Problem('forbidden', `this request needs a token of scope ${access}`);
  }
}

/**
 * Whether the header contains exactly this secret. The comparison
 * takes the same time wherever the first difference is.
 */
export function carriesSecret(authorization: string | undefined, secret: Secret): boolean {
  const given = Buffer.from(bearerOf(authorization) ?? '');
  const expected = Buffer.from(secret.reveal());
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function bearerOf(authorization: string | undefined): string | null {
  return /^Bearer +([^\s]{1,1024}) *$/i.exec(authorization ?? '')?.[1] ?? null;
}

type Bucket = { tokens: number; at: number };

export type Rate = { readonly perSecond: number; readonly atOnce: number };

/** Default rate of requests of one API token. */
const DEFAULT_RATE: Rate = { perSecond: 500, atOnce: 2_000 };

/** Default rate of requests without a valid token from one peer. */
const DEFAULT_FAILURE_RATE: Rate = { perSecond: 1, atOnce: 30 };

/** Maximum number of keys that are remembered. The least recently used key is forgotten first. */
const MOST_KEYS = 10_000;

/** Bounds the rate of uses of each key. Each key has a token bucket. */
export class RateLimit<K> {
  readonly #rate: Rate;
  readonly #buckets = new RecentMap<K, Bucket>(MOST_KEYS);

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /**
   * Counts a use of the key if the rate allows it.
   *
   * @param now monotonic, ms
   * @returns 0 if the rate allows the use, otherwise the time to wait, seconds (>= 1)
   */
  countUse(key: K, now: number): number {
    const { perSecond, atOnce } = this.#rate;
    const bucket = this.#buckets.get(key) ?? { tokens: atOnce, at: now };
    bucket.tokens = Math.min(atOnce, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    this.#buckets.set(key, bucket);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perSecond);
    bucket.tokens -= 1;
    return 0;
  }
}

/**
 * Makes the refusal for a reached {@link RateLimit}.
 *
 * @param what says what was too much
 * @param seconds time to wait
 */
export function tooMany(what: string, seconds: number): Problem {
  return new Problem('rate-limited', `${what}; try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}
