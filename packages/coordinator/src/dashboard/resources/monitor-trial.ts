import type { AnswerOf } from '../../api/endpoint.ts';
import { dryRun } from '../../api/routes/check.ts';
import { stateLabel } from '../../web/design/states.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { MONITOR_STYLE } from '../monitor/assets.ts';
import { PHASE_NAMES, PHASE_WORDS } from '../monitor/phases-section.ts';
import { outcomeLabel } from '../monitor/shown.ts';
import type { Trial } from './editor.ts';

type Answer = AnswerOf<typeof dryRun>['data'][number];
type Found = NonNullable<Answer['result']>;

/** Runs the draft of a monitor from its regions, and shows what each of them found. Nothing is saved. */
export const monitorTrial: Trial = {
  button: html`<button name="intent" value="try">Run it now</button>`,
  styles: [MONITOR_STYLE],
  async run({ api }, body) {
    const tried = await api.call(dryRun, {}, { body });
    return tried.problem ?? { shown: trialPanel(tried.body.data) };
  },
};

/** What each region found: its outcome, its phases, and its assertions one by one. */
function trialPanel(answers: readonly Answer[]): Html {
  return html`<section class="stack trial" aria-labelledby="trial" role="status">
<h2 id="trial">What the regions found</h2>
<p class="soft">One attempt in each region. It was not recorded, nobody was alerted, and nothing was saved.</p>
${
  answers.length === 0
    ? html`<p class="notice notice-warning">No region has an agent, so nobody made the check. <a href="/regions">Regions</a></p>`
    : html`<ol class="plain-list log">${answers.map(answerItem)}</ol>`
}
</section>`;
}

function answerItem({ region, result }: Answer): Html {
  if (result === null) {
    return html`<li><p class="log-line"><span class="log-state">${stateLabel('unknown', 'No answer')}</span><span class="log-place">${region}</span><span class="log-text">did not answer in time: it has no agent, or the agent is busy</span></p></li>`;
  }
  return html`<li><details open>
<summary><span class="log-line"><span class="log-state">${outcomeLabel(result.outcome)}</span><span class="log-place">${region}</span><span class="log-figure">${latencyText(result.latency)}</span><span class="log-text">${messageOf(result)}</span></span></summary>
<div class="log-more stack">${phasesLine(result)}${assertionsList(result)}</div>
</details></li>`;
}

function messageOf({ error_message: message, reason, status_code: status }: Found): string {
  if (message !== null) return message;
  if (reason !== null) return reason;
  return status === null ? '' : `status code ${status}`;
}

function phasesLine({ phases }: Found): Html {
  const present = phases === null ? [] : PHASE_NAMES.filter((phase) => phases[phase] !== undefined);
  if (phases === null || present.length === 0) return NO_HTML;
  return html`<dl class="facts small">${present.map((phase) => html`<dt>${PHASE_WORDS[phase]}</dt><dd>${latencyText(phases[phase] ?? null)}</dd>`)}</dl>`;
}

function assertionsList({ assertions, outcome }: Found): Html {
  if (assertions === null) {
    return outcome === 'failed' ? html`<p class="soft small">Assertions were not reached.</p>` : NO_HTML;
  }
  if (assertions.length === 0) return NO_HTML;
  return html`<ul class="plain-list small">${assertions.map(
    ({ assertion, failure }) =>
      html`<li>${outcomeLabel(failure === null ? 'passed' : 'failed')} ${assertion}${failure === null ? NO_HTML : html` <span class="soft">${failure}</span>`}</li>`,
  )}</ul>`;
}
