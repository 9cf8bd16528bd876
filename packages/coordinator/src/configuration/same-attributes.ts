import { isDeepStrictEqual } from 'node:util';
import type { AttributesOf, ResourceKind } from './kinds.ts';

/**
 * Whether two normalized resources of one kind are equal. The order of members does not matter, and the order
 * of lists does (sets were sorted when they were normalized).
 */
export function sameAttributes<K extends ResourceKind>(
  _kind: K,
  a: AttributesOf<K>,
  b: AttributesOf<K>,
): boolean {
  return isDeepStrictEqual(a, b);
}
