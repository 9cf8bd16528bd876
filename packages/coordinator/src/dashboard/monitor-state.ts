import type { MonitorStatus } from '../domain/monitor.ts';
import { type State, stateLabel } from '../web/design/states.ts';
import type { Html } from '../web/html.ts';

/** How the dashboard shows the status of a monitor. */
const SHOWN: Readonly<Record<MonitorStatus, { readonly state: State; readonly word: string }>> = {
  active: { state: 'operational', word: 'Up' },
  degraded: { state: 'degraded', word: 'Degraded' },
  error: { state: 'down', word: 'Down' },
  unknown: { state: 'unknown', word: 'No data' },
};

/** The state of a monitor in words. @param isActive whether it is checked at all */
export function monitorWord(status: MonitorStatus, isActive = true): string {
  return isActive ? SHOWN[status].word : 'Paused';
}

/** The state that stands for a status. */
export function stateOfStatus(status: MonitorStatus): State {
  return SHOWN[status].state;
}

/** Shape, word and colour of a monitor's state. */
export function monitorState(status: MonitorStatus, isActive = true): Html {
  return stateLabel(isActive ? SHOWN[status].state : 'unknown', monitorWord(status, isActive));
}
