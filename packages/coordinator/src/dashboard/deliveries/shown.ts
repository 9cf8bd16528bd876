import type { DeliveryView } from '../../api/routes/deliveries.ts';
import type { DeliveryState } from '../../store/schema.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';

/** How the states of a delivery are shown. */
const SHOWN: Readonly<Record<DeliveryState, { readonly state: State; readonly word: string }>> = {
  pending: { state: 'maintenance', word: 'Pending' },
  delivered: { state: 'operational', word: 'Delivered' },
  dead: { state: 'down', word: 'Given up' },
  superseded: { state: 'unknown', word: 'Left out' },
};

export function deliveryWord(state: DeliveryState): string {
  return SHOWN[state].word;
}

/** Shape, word and colour of a delivery's state. */
export function deliveryLabel(state: DeliveryState): Html {
  return stateLabel(SHOWN[state].state, SHOWN[state].word);
}

type SendAttempt = DeliveryView['attempts'][number];

/** Words for the outcomes of an attempt. Another version of svc may have further ones. */
const OUTCOMES: Readonly<Record<string, string>> = {
  delivered: 'Delivered',
  'permanent-message': 'Refused for good',
  'permanent-channel': 'The address is dead',
  'not-sent': 'Not sent',
};

/** Every attempt to deliver an alert. */
export function attemptsTable({ id, attempts }: Pick<DeliveryView, 'id' | 'attempts'>): Html {
  if (attempts.length === 0) return html`<p class="hint">Nothing was sent.</p>`;
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="Attempts of delivery ${id}"><table class="small">
<thead><tr><th scope="col" class="number">No.</th><th scope="col">At</th><th scope="col">Outcome</th><th scope="col" class="number">Status code</th><th scope="col" class="number">Took</th><th scope="col" class="wide">Answer</th></tr></thead>
<tbody>${attempts.map(row)}</tbody></table></div>`;
}

function row(attempt: SendAttempt): Html {
  const { number, at, duration, reason, status_code: status, error, reply } = attempt;
  const why = reason === null ? NO_HTML : html` <span class="soft">(${reason.replaceAll('-', ' ')})</span>`;
  return html`<tr><th scope="row" class="number">${number}</th><td>${instant(at)}</td><td>${outcomeOf(attempt)}${why}</td><td class="number">${status ?? '–'}</td><td class="number">${latencyText(duration)}</td><td>${error ?? reply ?? '–'}</td></tr>`;
}

function outcomeOf({ outcome, next_attempt_at: next }: SendAttempt): string {
  if (outcome === 'retry') return next === null ? 'Failed' : 'Failed, tried again';
  return OUTCOMES[outcome] ?? outcome;
}
