import { OUTCOMES, type Outcome } from '@svc/shared/messages/check-result.ts';
import { isRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { outcomeWord } from './shown.ts';

/** What a list of results shows; null: all. Instants are epoch ms. */
export type ResultsFilter = {
  readonly region: Region | null;
  readonly outcome: Outcome | null;
  readonly from: number | null;
  readonly until: number | null;
};

/** The filter in a query of the page. What the form cannot send is taken as left out. */
export function filterIn(query: URLSearchParams): ResultsFilter {
  const region = query.get('region') ?? '';
  return {
    region: isRegion(region) ? region : null,
    outcome: OUTCOMES.find((outcome) => outcome === query.get('outcome')) ?? null,
    from: instantIn(query.get('from')),
    until: instantIn(query.get('until')),
  };
}

/** A form of `GET`, which works without a script. @param path of the page */
export function filterForm(path: string, filter: ResultsFilter): Html {
  const option = (value: string, word: string, isChosen: boolean) =>
    html`<option value="${value}"${isChosen ? html` selected` : NO_HTML}>${word}</option>`;
  return html`<form method="get" action="${path}" class="filters">
<div class="field"><label for="filter-outcome">Outcome</label><select id="filter-outcome" name="outcome"><option value="">Any</option>${OUTCOMES.map((outcome) => option(outcome, outcomeWord(outcome), outcome === filter.outcome))}</select></div>
<div class="field"><label for="filter-region">Region</label><select id="filter-region" name="region"><option value="">Any</option>${REGIONS.map((region) => option(region, region, region === filter.region))}</select></div>
<div class="field"><label for="filter-from">From (UTC)</label><input id="filter-from" type="datetime-local" name="from" value="${inputText(filter.from)}"></div>
<div class="field"><label for="filter-until">Until (UTC)</label><input id="filter-until" type="datetime-local" name="until" value="${inputText(filter.until)}"></div>
<div class="row"><button>Filter</button><a href="${path}">Show all</a></div>
</form>`;
}

/** Form of `datetime-local`. Browsers leave out seconds that are 0. */
const LOCAL_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/;

/** The instant in UTC that a field of type `datetime-local` has. */
function instantIn(text: string | null): number | null {
  if (text === null || !LOCAL_INSTANT.test(text)) return null;
  const at = Date.parse(`${text}Z`);
  return at >= 0 ? at : null;
}

function inputText(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString().replace(/(?::00)?\.000Z$|Z$/, '');
}
