import type { MonitorStatus } from '../verdict/monitor.ts';
import { type StatusTimes, worstStatus } from '../verdict/uptime.ts';
import type { State } from '../web/design/states.ts';

/** The states of components and pages, from the best to the worst. `unknown`: there is no data. */
const BY_SEVERITY: readonly State[] = [
  'operational',
  'unknown',
  'maintenance',
  'degraded',
  'partial_outage',
  'down',
];

const OF_STATUS: Readonly<Record<MonitorStatus, State>> = {
  active: 'operational',
  degraded: 'degraded',
  error: 'down',
  unknown: 'unknown',
};

export function stateOf(status: MonitorStatus): State {
  return OF_STATUS[status];
}

/**
 * Returns the worst state of a day, however short it was. `maintenance`
 * is the result only if the day had no outage and no degradation.
 */
export function stateOfDay(times: StatusTimes): State {
  const worst = worstStatus(times);
  const isWorse = worst === 'error' || worst === 'degraded';
  return times.maintenance > 0 && !isWorse ? 'maintenance' : stateOf(worst);
}

/** Returns the worst of these states; `unknown` if the list is empty. */
export function worstState(states: readonly State[]): State {
  const worst = Math.max(...states.map((state) => BY_SEVERITY.indexOf(state)));
  return BY_SEVERITY[worst] ?? 'unknown';
}

/** The summary of a page. It says how bad the worst state is, and whether all components have it. */
export type Overall =
  | 'operational'
  | 'maintenance'
  | 'degraded'
  | 'some-degraded'
  | 'partial-outage'
  | 'major-outage'
  | 'some-unknown'
  | 'unknown'
  | 'empty';

/**
 * Summarizes the states of a page's components. A major outage means that
 * all components are down. `maintenance` is the result only if no component
 * is worse. Missing data is the result only if no problem is known.
 *
 * @param states the states of all components that have a state
 */
export function overallOf(states: readonly State[]): Overall {
  if (states.length === 0) return 'empty';
  const count = (...wanted: State[]) => states.filter((state) => wanted.includes(state)).length;
  const total = states.length;
  if (count('down') === total) return 'major-outage';
  if (count('down', 'partial_outage') > 0) return 'partial-outage';
  const degraded = count('degraded');
  if (degraded > 0) return degraded === total ? 'degraded' : 'some-degraded';
  if (count('maintenance') > 0) return 'maintenance';
  const unknown = count('unknown');
  if (unknown > 0) return unknown === total ? 'unknown' : 'some-unknown';
  return 'operational';
}

const STATE_OF_OVERALL: Readonly<Record<Overall, State>> = {
  operational: 'operational',
  maintenance: 'maintenance',
  degraded: 'degraded',
  'some-degraded': 'degraded',
  'partial-outage': 'partial_outage',
  'major-outage': 'down',
  'some-unknown': 'unknown',
  unknown: 'unknown',
  empty: 'unknown',
};

/** Returns the state whose shape and colour stand for the whole page. */
export function stateOfOverall(overall: Overall): State {
  return STATE_OF_OVERALL[overall];
}
