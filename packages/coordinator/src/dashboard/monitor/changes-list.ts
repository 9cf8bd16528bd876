import type { TransitionView } from '../../api/answers.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { durationText, instant } from '../../web/times.ts';
import { monitorState, monitorWord } from '../monitor-state.ts';
import { counted, outcomeLabel } from './shown.ts';
import { transitionWords } from './transition-words.ts';

/** Changes of status, each with its reason in words and the votes that made it. */
export function changesList(changes: readonly TransitionView[]): Html {
  return html`<ol class="plain-list log">${changes.map(
    (change) => html`<li><details>
<summary id="change-${change.id}"><span class="log-line log-change"><span class="log-time">${instant(change.at)}</span><span class="log-state">${stateOf(change)}</span><span class="log-text">${transitionWords(change)}${lengthOf(change)}</span></span></summary>
<div class="log-more stack">${votesTable(change)}
<dl class="facts small"><dt>Reason</dt><dd><code>${change.reason}</code></dd>${change.slot === null ? NO_HTML : html`<dt>Check due</dt><dd>${instant(change.slot)}</dd>`}</dl></div>
</details></li>`,
  )}</ol>`;
}

/** The new state; where only the reason changed, that it stayed. */
function stateOf({ from, to }: TransitionView): Html {
  if (from === to) return html`<span class="soft">Still ${monitorWord(to).toLowerCase()}</span>`;
  return monitorState(to);
}

/** How long a reason lasted that did not change the status. */
function lengthOf({ at, until, slots }: TransitionView): string {
  if (until === null || slots === null) return '';
  if (slots === 1) return ' It was one check.';
  return ` It was ${counted(slots, 'check')} within ${durationText(until - at)}.`;
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
