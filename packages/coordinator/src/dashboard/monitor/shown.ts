import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { AnswerOf } from '../../api/endpoint.ts';
import type { MONITOR } from '../../api/routes/monitors.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';

/** A monitor as the API answers it. */
export type MonitorView = AnswerOf<typeof MONITOR.read>;

/** How an outcome of a check is shown. */
const OUTCOMES: Readonly<Record<Outcome, { readonly state: State; readonly word: string }>> = {
  passed: { state: 'operational', word: 'Passed' },
  degraded: { state: 'degraded', word: 'Degraded' },
  failed: { state: 'down', word: 'Failed' },
  not_run: { state: 'unknown', word: 'Not run' },
};

export function outcomeWord(outcome: Outcome): string {
  return OUTCOMES[outcome].word;
}

/** Shape, word and colour of an outcome. */
export function outcomeLabel(outcome: Outcome): Html {
  return stateLabel(OUTCOMES[outcome].state, OUTCOMES[outcome].word);
}

/** A count with its noun: `1 result`, `1,204 results`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
