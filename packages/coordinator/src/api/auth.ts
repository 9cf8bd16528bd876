import { timingSafeEqual } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';
import { scopeIncludes, type Token, type Tokens } from '../store/tokens.ts';
import type { Access } from './endpoint.ts';
import { Problem } from './problem.ts';

/**
 * Finds the token of a request with `Authorization: Bearer <token>`.
 *
 * @param now epoch ms
 * @throws Problem `unauthorized` without a valid token
 */
export function authenticate(tokens: Tokens, authorization: string | undefined, now: number): Token {
  const secret = bearerOf(authorization);
  if (secret === null) throw unauthorized('send the header `Authorization: Bearer <token>`');
  const token = tokens.lookup(secret);
  if (token === null) throw unauthorized('the token is unknown or revoked');
  checkExpiry(token, now);
  return token;
}

/** @throws Problem `unauthorized` when the token has expired at `now`, epoch ms */
export function checkExpiry({ expiresAt }: Token, now: number): void {
  if (expiresAt === null || expiresAt > now) return;
  throw unauthorized(`the token expired at ${new Date(expiresAt).toISOString()}`);
}

export function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="svc"' } });
}

/** @throws Problem `forbidden` when the token's scope is too small */
export function authorize(token: Token, access: Access): void {
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
