import { isDeepStrictEqual } from 'node:util';

/**
 * Whether two normalized resources of one kind say the same. Members may stand in any order; lists
 * count in theirs (sets were ordered when they were normalized).
 */
export function sameAttributes(a: object, b: object): boolean {
  return isDeepStrictEqual(a, b);
}
