export const QUORUM_WORDS = ['majority', 'any', 'all'] as const;

/**
 * How many votes make a verdict: more than half of them, one, all of them, or this number of regions. The
 * coordinator's `votesNeeded` says what each means.
 */
export type Quorum = (typeof QUORUM_WORDS)[number] | number;

/** @param declared the value of the attribute `quorum`: one of the words, or the digits of a number */
export function quorumOf(declared: string): Quorum {
  return QUORUM_WORDS.find((word) => word === declared) ?? Number(declared);
}
