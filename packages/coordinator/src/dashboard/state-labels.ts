import type { Outcome } from '@svc/shared/messages/check-result.ts';
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

/** A label that says that the monitor is under maintenance. It stands beside the label of the state. */
export function maintenanceLabel(): Html {
  return html`<span class="small">${stateLabel('maintenance', 'Maintenance')}</span>`;
}

/** A label that says that the alerts of the monitor are held by a mute. */
export function mutedLabel(): Html {
  return html`<span class="small">${stateLabel('maintenance', 'Muted')}</span>`;
}

/** A label that says that somebody looks after the open incident. */
export function acknowledgedLabel(): Html {
  return html`<span class="small">${stateLabel('operational', 'Acknowledged')}</span>`;
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
