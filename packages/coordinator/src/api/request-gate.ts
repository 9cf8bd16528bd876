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
   * Counts a failure of a peer to say who it is.
   *
   * @throws Problem `rate-limited` when it has failed too often
   */
  countFailure(peer: string | null): void {
    const seconds = this.#failures.countUse(peerKey(peer), this.#parts.clock.monotonic());
    if (seconds > 0) throw tooMany('this address sent too many requests without a valid token', seconds);
  }

  /**
   * Takes the token of a session, which the caller has found.
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
   * Checks again that the token is valid. Call it when the body has come, which may take some time: a token
   * that was revoked meanwhile must not create another one.
   *
   * @throws Problem `unauthorized`
   */
  confirmToken(token: Token): void {
    if (this.#parts.tokens.isRevoked(token)) throw unauthorized('the token is unknown or revoked');
  }

  /**
   * Checks the rate and the scope. A token that sends too many requests is told so even when its scope does
   * not allow them.
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
 * Finds the token of a request with `Authorization: Bearer <token>`.
 *
 * @param now epoch ms
 * @throws Problem `unauthorized` without a valid token
 */
function authenticate(tokens: Tokens, authorization: string | undefined, now: number): Token {
  const secret = bearerOf(authorization);
  if (secret === null) throw unauthorized('send the header `Authorization: Bearer <token>`');
  const token = tokens.lookup(secret);
  if (token === null) throw unauthorized('the token is unknown or revoked');
  checkExpiry(token, now);
  return token;
}

/** @throws Problem `unauthorized` when the token has expired at `now`, epoch ms */
function checkExpiry({ expiresAt }: Token, now: number): void {
  if (expiresAt === null || expiresAt > now) return;
  throw unauthorized(`the token expired at ${new Date(expiresAt).toISOString()}`);
}

export function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="svc"' } });
}

/** @throws Problem `forbidden` when the token's scope is too small */
function authorize(token: Token, access: Access): void {
  if (access === 'public') return;
  if (access === 'operator') {
    if (!token.isOperator) throw new Problem('forbidden', "this request needs the operator's token");
  } else if (!scopeIncludes(token.scope, access)) {
    throw new Problem('forbidden', `this request needs a token of scope ${access}`);
  }
}

/** Whether the header carries exactly this secret. It takes the same time wherever they differ. */
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

/** Most remembered keys. The least recently used ones are forgotten first. */
const MOST_KEYS = 10_000;

/** A token bucket for each key. */
export class RateLimit<K> {
  readonly #rate: Rate;
  readonly #buckets = new RecentMap<K, Bucket>(MOST_KEYS);

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /**
   * Counts a use, if it may pass.
   *
   * @param now monotonic, ms
   * @returns 0 when it may pass, otherwise the seconds (>= 1) to wait
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

/** The refusal of what a {@link RateLimit} did not let pass. @param seconds to wait */
export function tooMany(what: string, seconds: number): Problem {
  return new Problem('rate-limited', `${what}; try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}
