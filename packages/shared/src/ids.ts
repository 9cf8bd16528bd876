import { createHash, createHmac } from 'node:crypto';

/** An id of an object, as the API writes it: decimal, and exact as a number. */
export const ID = /^[1-9]\d{0,14}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}

/**
 * A UUID (version 8, RFC 9562) that depends only on `parts` and `key`. Every process computes the same UUID
 * for the same parts, and a different one for other parts.
 *
 * @param key secret that is needed to compute the UUID; undefined: everybody who knows the parts can compute
 *   the UUID
 */
export function derivedUuid(parts: readonly (string | number)[], key?: Uint8Array): string {
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  // JSON separates the parts, so different parts never give the same text.
  const hex = hash.update(JSON.stringify(parts)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
