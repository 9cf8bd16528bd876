import { createHash } from 'node:crypto';

/** An id of an object, as the API writes it: decimal, and exact as a number. */
export const ID = /^[1-9]\d{0,14}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}

/** A UUID (version 8, RFC 9562) that is always the same for the same text, in every process. */
export function derivedUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
