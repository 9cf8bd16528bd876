import { OUTCOMES, type Outcome, type Phases } from '@svc/shared/messages/check-result.ts';
import { isRegionId, type Region, type RegionText } from '@svc/shared/regions.ts';
import type { ResultView } from '../../api/answers.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant, zoneName } from '../../web/times.ts';
import { counted } from '../page-parts.ts';
import { outcomeLabel, outcomeWord } from '../state-labels.ts';
import { PHASE_NAMES, PHASE_WORDS } from './charts.ts';

/** A list of results. Each result opens to its attempts and phases. */
export function resultsList(results: readonly ResultView[], regionText: RegionText): Html {
  return html`<ol class="plain-list log">${results.map(
    (result) => html`<li><details>
<summary id="result-${result.cron_timestamp}-${result.region}"><span class="log-line"><span class="log-time">${instant(result.cron_timestamp)}</span><span class="log-state">${outcomeLabel(result.outcome)}</span><span class="log-place">${regionText(result.region)}</span><span class="log-figure">${latencyText(result.latency)}</span><span class="log-text">${findingText(result)}</span></span></summary>
${resultDetails(result)}
</details></li>`,
  )}</ol>`;
}

/**
 * The finding of a result in one line: its error message,
 * the reason why the check was not run, or its status code.
 */
export function findingText({
  error_message: message,
  reason,
  status_code: status,
}: Pick<ResultView, 'error_message' | 'reason' | 'status_code'>): string {
  if (message !== null) return message;
  if (reason !== null) return NOT_RUN_WORDS[reason];
  return status === null ? '' : `status code ${status}`;
}

/** Words for the reasons why a check was not run. */
const NOT_RUN_WORDS: Readonly<Record<NonNullable<ResultView['reason']>, string>> = {
  'no-agent': 'svc had no connection to NATS when the check was due',
  overloaded: 'the agent had no free place in time',
  'agent-starved': 'the agent waited for a CPU, so its measurement says nothing',
  'shutting-down': 'the agent was stopping',
  'job-lost': 'the agent that held the check is gone',
  'egress-denied': "the operator's rules deny the target",
  unsupported: 'the agent is too old for this kind of check',
  'internal-error': 'a defect of svc: the log of the agent says more',
  'network-down': "the agent's own network was down",
  'no-ipv6': 'the target has IPv6 addresses only, and the agent has no IPv6',
};

function resultDetails(result: ResultView): Html {
  const { attempts, phases, agent_id: agent, recorded_at: recordedAt } = result;
  const expiry = result.certificate_expires_at;
  return html`<div class="log-more stack">
${attempts.length === 0 ? NO_HTML : attemptsTable(attempts)}
${phases === null ? NO_HTML : phasesOf(phases, result.attempts.length)}
<dl class="facts small">
${agent === null ? NO_HTML : html`<dt>Agent</dt><dd>${agent}</dd>`}
<dt>Recorded</dt><dd>${instant(recordedAt)}</dd>
${expiry === null ? NO_HTML : html`<dt>Certificate ends</dt><dd>${instant(expiry)}</dd>`}
${result.body_truncated ? html`<dt>Body</dt><dd>longer than 2 MiB: assertions saw its beginning</dd>` : NO_HTML}
</dl>
</div>`;
}

function attemptsTable(attempts: ResultView['attempts']): Html {
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="Attempts"><table class="small">
<caption>${counted(attempts.length, 'attempt')}</caption>
<thead><tr><th scope="col" class="number">No.</th><th scope="col" class="number">Began after</th><th scope="col">Outcome</th><th scope="col" class="number">Took</th><th scope="col" class="number">Status code</th><th scope="col" class="wide">What it found</th></tr></thead>
<tbody>${attempts.map(
    (attempt, index) =>
      html`<tr><th scope="row" class="number">${index + 1}</th><td class="number">${latencyText(attempt.started_ms)}</td><td>${outcomeWord(attempt.outcome)}</td><td class="number">${latencyText(attempt.latency)}</td><td class="number">${attempt.status_code ?? '–'}</td><td>${attempt.error_message ?? (attempt.outcome === 'failed' ? '' : 'All assertions held.')}</td></tr>`,
  )}</tbody></table></div>`;
}

/** The phases of the attempt that decided the outcome. */
function phasesOf(phases: Phases, attempts: number): Html {
  const present = PHASE_NAMES.filter((phase) => phases[phase] !== undefined);
  const title = attempts > 1 ? 'Phases of the last attempt' : 'Phases';
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="${title}"><table class="small phases"><caption>${title}</caption>
<thead><tr>${present.map((phase) => html`<th scope="col" class="number">${PHASE_WORDS[phase]}</th>`)}</tr></thead>
<tbody><tr>${present.map((phase) => html`<td class="number">${latencyText(phases[phase] ?? null)}</td>`)}</tr></tbody></table></div>`;
}

/** The filter of a list of results. An attribute that is null does not filter. Instants are epoch ms. */
type ResultsFilter = {
  readonly region: Region | null;
  readonly outcome: Outcome | null;
  readonly from: number | null;
  readonly until: number | null;
};

/** Reads the filter from a page's query. Values that the form cannot send are ignored. */
export function filterIn(query: URLSearchParams): ResultsFilter {
  const region = query.get('region') ?? '';
  return {
    region: isRegionId(region) ? region : null,
    outcome: OUTCOMES.find((outcome) => outcome === query.get('outcome')) ?? null,
    from: instantIn(query.get('from')),
    until: instantIn(query.get('until')),
  };
}

/**
 * The filter form. It uses `GET` and needs no script.
 *
 * @param path path of the page
 * @param regions the regions of the installation
 */
export function filterForm(
  path: string,
  filter: ResultsFilter,
  { regions, regionText }: { readonly regions: readonly Region[]; readonly regionText: RegionText },
): Html {
  const option = (value: string, word: string, isChosen: boolean) =>
    html`<option value="${value}"${isChosen ? html` selected` : NO_HTML}>${word}</option>`;
  return html`<form method="get" action="${path}" class="filters">
<div class="field"><label for="filter-outcome">Outcome</label><select id="filter-outcome" name="outcome"><option value="">Any</option>${OUTCOMES.map((outcome) => option(outcome, outcomeWord(outcome), outcome === filter.outcome))}</select></div>
<div class="field"><label for="filter-region">Region</label><select id="filter-region" name="region"><option value="">Any</option>${regions.map((region) => option(region, regionText(region), region === filter.region))}</select></div>
<div class="field"><label for="filter-from">From (${zoneName()})</label><input id="filter-from" data-utc autocomplete="off" type="datetime-local" name="from" value="${inputText(filter.from)}"></div>
<div class="field"><label for="filter-until">Until (${zoneName()})</label><input id="filter-until" data-utc autocomplete="off" type="datetime-local" name="until" value="${inputText(filter.until)}"></div>
<div class="row"><button>Filter</button><a href="${path}">Show all</a></div>
</form>`;
}

/** Matches the value of a `datetime-local` input. Browsers leave out seconds that are 0. */
const LOCAL_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/;

/**
 * The instant in an input of type `datetime-local`, read
 * as UTC, epoch ms; null: the input is empty or invalid.
 */
function instantIn(text: string | null): number | null {
  if (text === null || !LOCAL_INSTANT.test(text)) return null;
  const at = Date.parse(`${text}Z`);
  return at >= 0 ? at : null;
}

function inputText(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString().replace(/(?::00)?\.000Z$|Z$/, '');
}
