import { timingSafeEqual } from 'node:crypto';
import type { Token, Tokens } from '../store/tokens.ts';
import type { Access } from './endpoint.ts';
import { Problem } from './problem.ts';

/**
 * Whose request it is, by `Authorization: Bearer <token>`.
 *
 * @throws Problem `unauthorized` without a valid token
 */
export function authenticate(tokens: Tokens, authorization: string | undefined): Token {
  const secret = bearerOf(authorization);
  const token = secret === null ? null : tokens.lookup(secret);
  if (token === null) {
    const detail =
      secret === null ? 'send the header `Authorization: Bearer <token>`' : 'the token is unknown or revoked';
    throw new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="svc"' } });
  }
  return token;
}

/** @throws Problem `forbidden` when the token's scope is too small */
export function authorize(token: Token, access: Access): void {
  if (access === 'write' && token.scope !== 'write') {
    throw new Problem('forbidden', 'this needs a token of scope write');
  }
  if (access === 'operator' && !token.isOperator) {
    throw new Problem('forbidden', "this needs the operator's token");
  }
}

/** Whether the header carries exactly this secret; takes the same time wherever they differ. */
export function carriesSecret(authorization: string | undefined, secret: string): boolean {
  const given = Buffer.from(bearerOf(authorization) ?? '');
  const expected = Buffer.from(secret);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function bearerOf(authorization: string | undefined): string | null {
  return /^Bearer +([^\s]{1,1024}) *$/i.exec(authorization ?? '')?.[1] ?? null;
}
