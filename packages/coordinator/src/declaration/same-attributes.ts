import { isDeepStrictEqual } from 'node:util';

/**
 * Whether two normalized resources of one kind are equal. The order of members does not matter, and the order
 * of lists does (sets were sorted when they were normalized).
 */
export function sameAttributes(a: object, b: object): boolean {
  return isDeepStrictEqual(a, b);
}
