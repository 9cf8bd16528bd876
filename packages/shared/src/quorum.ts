export const QUORUM_WORDS = ['majority', 'any', 'all'] as const;

/**
 * The quorum of a monitor: how many votes make a worse status. `majority`: more than half of the votes.
 * `any`: one vote. `all`: all votes. A number: so many votes. `votesNeeded` of the coordinator is the exact
 * rule.
 */
export type Quorum = (typeof QUORUM_WORDS)[number] | number;

/**
 * Reads a declared quorum.
 *
 * @param declared the value of the attribute `quorum`: one of the words, or the digits of a number
 */
export function quorumOf(declared: string): Quorum {
  return QUORUM_WORDS.find((word) => word === declared) ?? Number(declared);
}
