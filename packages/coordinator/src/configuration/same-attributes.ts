import { isDeepStrictEqual } from 'node:util';
import type { AttributesOf, ResourceKind } from './kinds.ts';

/**
 * Whether two normalized resources of one kind say the same. Members may stand in any order; lists
 * count in theirs (sets were ordered when they were normalized).
 */
export function sameAttributes<K extends ResourceKind>(
  _kind: K,
  a: AttributesOf<K>,
  b: AttributesOf<K>,
): boolean {
  return isDeepStrictEqual(a, b);
}
