import type { RegionText } from '@svc/shared/regions.ts';
import type { TransitionView } from '../../api/answers.ts';
import type { TransitionReason } from '../../verdict/transition.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { durationText, instant } from '../../web/times.ts';
import { counted } from '../page-parts.ts';
import { monitorState, monitorWord, outcomeLabel } from '../state-labels.ts';

/** A list of status changes, each with its reason in words and the votes that caused it. */
export function changesList(changes: readonly TransitionView[], regionText: RegionText): Html {
  return html`<ol class="plain-list log">${changes
    .map((change) => withRegionTexts(change, regionText))
    .map(
      (change) => html`<li><details>
<summary id="change-${change.id}"><span class="log-line log-change"><span class="log-time">${instant(change.at)}</span><span class="log-state">${stateOf(change)}</span><span class="log-text">${transitionWords(change)}${lengthOf(change)}</span></span></summary>
<div class="log-more stack">${votesTable(change)}
<dl class="facts small"><dt>Reason</dt><dd><code>${change.reason}</code></dd>${change.slot === null ? NO_HTML : html`<dt>Check due</dt><dd>${instant(change.slot)}</dd>`}</dl></div>
</details></li>`,
    )}</ol>`;
}

/** The change with what people see of the regions in the place of their ids. */
function withRegionTexts(change: TransitionView, regionText: RegionText): TransitionView {
  return { ...change, votes: change.votes.map((vote) => ({ ...vote, region: regionText(vote.region) })) };
}

/** Shows the new state. If only the reason changed, it shows `Still` and the unchanged state. */
function stateOf({ from, to }: TransitionView): Html {
  if (from === to) return html`<span class="soft">Still ${monitorWord(to).toLowerCase()}</span>`;
  return monitorState(to);
}

/** Says how long a reason lasted that did not change the status; '' for any other change. */
function lengthOf({ at, until, slots }: TransitionView): string {
  if (until === null || slots === null) return '';
  if (slots === 1) return ' This was found once.';
  return ` This was found ${slots} times within ${durationText(until - at)}.`;
}

function votesTable({ votes }: TransitionView): Html {
  if (votes.length === 0) return html`<p class="soft small">No region had a vote.</p>`;
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="Votes"><table class="small">
<caption>${counted(votes.length, 'vote')}</caption>
<thead><tr><th scope="col">Region</th><th scope="col">Vote</th><th scope="col">Check due</th><th scope="col" class="number">Latency</th><th scope="col" class="number">Status code</th><th scope="col" class="wide">What it found</th><th scope="col">Counted</th></tr></thead>
<tbody>${votes.map(
    (vote) =>
      html`<tr><th scope="row">${vote.region}</th><td>${outcomeLabel(vote.outcome)}</td><td>${instant(vote.slot)}</td><td class="number">${latencyText(vote.latency)}</td><td class="number">${vote.status_code ?? '–'}</td><td>${vote.error_message ?? ''}</td><td>${vote.counted ? 'Yes' : 'No'}</td></tr>`,
  )}</tbody></table></div>`;
}

/** The reason and the votes from which {@link transitionWords} makes its sentence. */
export type TransitionVotes = Pick<TransitionView, 'reason' | 'votes'>;
type CountedVote = TransitionView['votes'][number];

/** Maximum number of regions that a sentence names for one finding. The table of votes names all regions. */
const REGIONS_NAMED = 5;

/**
 * Explains in a sentence why a monitor got or kept its status:
 * `2 of 3 regions failed: status code 503, expected 200 (hosta-fra, hostb-par).`
 *
 * The sentence names only votes that counted. If a later version of svc stored a
 * reason that this version does not know, the reason is shown as it is stored.
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
  'quorum-failed': (votes) =>
    sentenceOf(votes, ['failed'], (some) => `${some} failed`, 'As many regions failed as the quorum says.'),
  'failures-apart': (votes) =>
    sentenceOf(
      votes,
      ['failed'],
      (some) => `${some} failed, but too few of them at one moment, so the status stayed`,
      'Enough regions failed, but too few of them at one moment, so the status stayed.',
    ),
  unconfirmed: (votes) =>
    sentenceOf(
      votes,
      ['failed', 'degraded'],
      (some) => `${some} failed or were degraded, but the checks in a row are too few to change the status`,
      'The checks in a row that say another status are too few to change it.',
    ),
  'majority-degraded': (votes) => troubled(votes, 'More than half of the regions were degraded.'),
  'quorum-degraded': (votes) => troubled(votes, 'As many regions were degraded as the quorum says.'),
  'minority-failed': (votes) =>
    sentenceOf(
      votes,
      ['failed'],
      (some) => `${some} failed, which is too few for an error`,
      'Some regions failed, but too few for an error.',
    ),
  'minority-degraded': (votes) =>
    sentenceOf(
      votes,
      ['degraded'],
      (some, isOne) => `${some} ${isOne ? 'was' : 'were'} degraded, which is too few`,
      'Some regions were degraded, but too few.',
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
  'no-electorate': () =>
    'None of the regions had an agent within the last 24 hours, or none has been given a check yet.',
  'probe-changed': () => 'What is checked was changed, so earlier votes count no more.',
  deactivated: () => 'The monitor was deactivated.',
};

/**
 * Makes the sentence for the status `degraded`, which votes that failed may have made too.
 *
 * @param otherwise the sentence if no such vote is stored
 */
function troubled(votes: readonly CountedVote[], otherwise: string): string {
  const failed = votes.filter(({ outcome }) => outcome === 'failed').length;
  if (failed === 0) {
    const were = (some: string, isOne: boolean) => `${some} ${isOne ? 'was' : 'were'} degraded`;
    return sentenceOf(votes, ['degraded'], were, otherwise);
  }
  const both = (some: string) => `${some} failed or were degraded`;
  return sentenceOf(votes, ['failed', 'degraded'], both, otherwise);
}

/**
 * Makes a sentence about how many regions cast votes with these outcomes, and what these regions found.
 *
 * @param statement makes the statement from a text like `2 of 3 regions`
 * @param otherwise the sentence if no vote with these outcomes is stored
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

/** Lists each finding once, with its regions. */
function findings(votes: readonly CountedVote[]): string {
  const byFinding = Map.groupBy(votes, findingOf);
  return [...byFinding]
    .map(([finding, some]) => `${finding} (${regionList(some.map(({ region }) => region))})`)
    .join('; ');
}

/** The finding of a vote without its final full stop, because the sentence continues. */
function findingOf({ error_message: message, latency, outcome }: CountedVote): string {
  if (message !== null && message !== '') return message.replace(/\.$/, '');
  return latency === null ? outcome : latencyText(latency);
}

function regionList(regions: readonly string[]): string {
  const named = regions.slice(0, REGIONS_NAMED);
  const others = regions.length - named.length;
  return others === 0 ? named.join(', ') : `${named.join(', ')} and ${others} more`;
}
