import type { TransitionView } from '../../api/answers.ts';
import type { TransitionReason } from '../../verdict/transition.ts';
import { latencyText } from '../../web/figures.ts';

/** What the words are made of. */
export type TransitionVotes = Pick<TransitionView, 'reason' | 'votes'>;
type CountedVote = TransitionView['votes'][number];

/** Most regions that are named for one finding. The table of the votes names all. */
const REGIONS_NAMED = 5;

/**
 * Why a monitor got or kept its status, in a sentence: `2 of 3 regions failed: status code 503, expected 200
 * (hosta-fra, hostb-par).`
 *
 * Only votes that counted are told. A reason of a later version of svc is told by its name.
 */
export function transitionWords({ reason, votes }: TransitionVotes): string {
  const counted = votes.filter((vote) => vote.counted);
  return isKnown(reason) ? WORDS[reason](counted) : `${reason}.`;
}

function isKnown(reason: string): reason is TransitionReason {
  return Object.hasOwn(WORDS, reason);
}

const WORDS: Readonly<Record<TransitionReason, (votes: readonly CountedVote[]) => string>> = {
  'majority-failed': (votes) =>
    sentenceOf(votes, ['failed'], (some) => `${some} failed`, 'More than half of the regions failed.'),
  'failures-apart': (votes) =>
    sentenceOf(
      votes,
      ['failed'],
      (some) => `${some} failed, but never more than half at one moment, so the status stayed`,
      'More than half of the regions failed, but never at one moment, so the status stayed.',
    ),
  'majority-degraded': majorityDegraded,
  'minority-failed': (votes) =>
    sentenceOf(
      votes,
      ['failed'],
      (some) => `${some} failed, which is not more than half`,
      'Some regions failed, but not more than half.',
    ),
  'minority-degraded': (votes) =>
    sentenceOf(
      votes,
      ['degraded'],
      (some, isOne) => `${some} ${isOne ? 'was' : 'were'} degraded, which is not more than half`,
      'Some regions were degraded, but not more than half.',
    ),
  'all-passed': ({ length }) => {
    if (length === 0) return 'All regions passed.';
    return length === 1 ? 'The only region passed.' : `All ${length} regions passed.`;
  },
  'too-few-votes': ({ length }) => {
    if (length === 0) return 'No region has a vote that counts.';
    return `Only ${length} ${length === 1 ? 'region has' : 'regions have'} a vote that counts, which is less than half of them.`;
  },
  'votes-expired': () => 'The votes grew too old: fewer than half of the regions reported in time.',
  'no-electorate': () => 'None of the regions had an agent within the last 24 hours.',
  'probe-changed': () => 'What is checked was changed, so earlier votes count no more.',
  deactivated: () => 'The monitor was deactivated.',
};

/** Failures and slow answers make it together. */
function majorityDegraded(votes: readonly CountedVote[]): string {
  const failed = votes.filter(({ outcome }) => outcome === 'failed').length;
  const otherwise = 'More than half of the regions were degraded.';
  if (failed === 0) {
    const were = (some: string, isOne: boolean) => `${some} ${isOne ? 'was' : 'were'} degraded`;
    return sentenceOf(votes, ['degraded'], were, otherwise);
  }
  const both = (some: string) => `${some} failed or were degraded`;
  return sentenceOf(votes, ['failed', 'degraded'], both, otherwise);
}

/**
 * Tells how many regions voted so, and what they found.
 *
 * @param statement makes it of `2 of 3 regions`
 * @param otherwise the sentence where no such vote is stored
 */
function sentenceOf(
  votes: readonly CountedVote[],
  outcomes: readonly CountedVote['outcome'][],
  statement: (some: string, isOne: boolean) => string,
  otherwise: string,
): string {
  const such = votes.filter(({ outcome }) => outcomes.includes(outcome));
  if (such.length === 0) return otherwise;
  const all = votes.length === 1 ? 'The only region' : `${such.length} of ${votes.length} regions`;
  return `${statement(all, such.length === 1)}: ${findings(such)}.`;
}

/** Each finding once, with the regions that have it. */
function findings(votes: readonly CountedVote[]): string {
  const byFinding = Map.groupBy(votes, findingOf);
  return [...byFinding]
    .map(([finding, some]) => `${finding} (${regionList(some.map(({ region }) => region))})`)
    .join('; ');
}

/** Without a full stop at the end, because the sentence goes on. */
function findingOf({ error_message: message, latency, outcome }: CountedVote): string {
  if (message !== null && message !== '') return message.replace(/\.$/, '');
  return latency === null ? outcome : latencyText(latency);
}

function regionList(regions: readonly string[]): string {
  const named = regions.slice(0, REGIONS_NAMED);
  const others = regions.length - named.length;
  return others === 0 ? named.join(', ') : `${named.join(', ')} and ${others} more`;
}
