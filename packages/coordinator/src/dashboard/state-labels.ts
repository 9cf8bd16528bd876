import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { OverviewMark } from '../store/declaration/monitor-overview.ts';
import type { MonitorStatus } from '../verdict/monitor.ts';
import { type State, stateLabel } from '../web/design/states.ts';
import { type Html, html } from '../web/html.ts';

/** The state of a monitor in the dashboard: its status, or `paused` while it is not checked. */
export type DashboardState = MonitorStatus | 'paused';

/** Shape and word of each state of a monitor. */
export const MONITOR_STATES: Readonly<
  Record<DashboardState, { readonly state: State; readonly word: string }>
> = {
  error: { state: 'down', word: 'Down' },
  degraded: { state: 'degraded', word: 'Degraded' },
  unknown: { state: 'unknown', word: 'No data' },
  active: { state: 'operational', word: 'Up' },
  paused: { state: 'maintenance', word: 'Paused' },
};

/**
 * The word of a monitor's state.
 *
 * @param isActive whether the monitor is checked
 */
export function monitorWord(status: MonitorStatus, isActive = true): string {
  return MONITOR_STATES[isActive ? status : 'paused'].word;
}

/** The state whose shape and colour represent a status. */
export function stateOfStatus(status: MonitorStatus): State {
  return MONITOR_STATES[status].state;
}

/**
 * Shape, word and colour of a monitor's state.
 *
 * @param isActive whether the monitor is checked
 */
export function monitorState(status: MonitorStatus, isActive = true): Html {
  const { state, word } = MONITOR_STATES[isActive ? status : 'paused'];
  return stateLabel(state, word);
}

/** Shape and word of what holds a monitor's alerts or its reminders. */
const MARKS: Readonly<Record<OverviewMark, { readonly state: State; readonly word: string }>> = {
  maintenance: { state: 'maintenance', word: 'Maintenance' },
  muted: { state: 'maintenance', word: 'Muted' },
  acknowledged: { state: 'operational', word: 'Acknowledged' },
};

/** A label that stands beside the label of the state: the monitor has this mark. */
export function markLabel(mark: OverviewMark): Html {
  return html`<span class="small">${stateLabel(MARKS[mark].state, MARKS[mark].word)}</span>`;
}

/** The state whose shape and colour represent a mark. */
export function stateOfMark(mark: OverviewMark): State {
  return MARKS[mark].state;
}

/** Shape and word of each outcome of a check. */
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
