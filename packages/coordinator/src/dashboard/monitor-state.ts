import type { MonitorStatus } from '../verdict/monitor.ts';
import { type State, stateLabel } from '../web/design/states.ts';
import { type Html, html } from '../web/html.ts';

/** What the dashboard shows of a monitor: its status, or that it is not checked. */
export type DashboardState = MonitorStatus | 'paused';

/** How the dashboard shows the states of monitors. */
export const MONITOR_STATES: Readonly<
  Record<DashboardState, { readonly state: State; readonly word: string }>
> = {
  error: { state: 'down', word: 'Down' },
  degraded: { state: 'degraded', word: 'Degraded' },
  unknown: { state: 'unknown', word: 'No data' },
  active: { state: 'operational', word: 'Up' },
  paused: { state: 'maintenance', word: 'Paused' },
};

/** The state of a monitor in words. @param isActive whether it is checked at all */
export function monitorWord(status: MonitorStatus, isActive = true): string {
  return MONITOR_STATES[isActive ? status : 'paused'].word;
}

/** The state that stands for a status. */
export function stateOfStatus(status: MonitorStatus): State {
  return MONITOR_STATES[status].state;
}

/** Shape, word and colour of a monitor's state. @param isActive whether it is checked at all */
export function monitorState(status: MonitorStatus, isActive = true): Html {
  const { state, word } = MONITOR_STATES[isActive ? status : 'paused'];
  return stateLabel(state, word);
}

/** Says beside the state that alerts are held. */
export function maintenanceLabel(): Html {
  return html`<span class="small">${stateLabel('maintenance', 'Maintenance')}</span>`;
}
