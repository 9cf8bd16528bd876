import type { State } from '../web/design/states.ts';
import type { DayView } from './page-view.ts';

/**
 * Class of the bars of each state. The styles give each class a colour and a height, so that states differ
 * without colours too.
 */
const CLASSES: Readonly<Record<State, string>> = {
  operational: 'o',
  unknown: 'u',
  maintenance: 'm',
  degraded: 'd',
  partial_outage: 'p',
  down: 'e',
};

/** The states that bars show: those of days. */
export const BAR_STATES = ['operational', 'degraded', 'down', 'maintenance', 'unknown'] as const;

/** Class of a state in the bars, and of its word beside them. */
export function barClass(state: State): string {
  return CLASSES[state];
}

/** States whose bars are higher than those of operational days, and hide them. */
const HIDING: ReadonlySet<State> = new Set(['degraded', 'partial_outage', 'down']);

/** Box of a drawing of so many days, as `viewBox` takes it. A day is one unit wide, and its bar is a line at height 0. */
export function barsBox(days: number): string {
  return `0 -20 ${days} 40`;
}

/**
 * The paths of one bar for each day, oldest first. Days in a row with the same state are one dashed line, whose
 * dashes are the bars, and each state has one path. The line of operational days goes on below higher bars, which come
 * after it: 90 quiet days with an outage are 55 characters.
 */
export function barPaths(days: readonly Pick<DayView, 'state'>[]): string {
  const lines = new Map<State, string>([['operational', runs(days, isDrawnQuiet)]]);
  for (const { state } of days) {
    if (!lines.has(state))
      lines.set(
        state,
        runs(days, (other) => other === state),
      );
  }
  return [...lines]
    .filter(([, line]) => line !== '')
    .map(([state, line]) => `<path class=${CLASSES[state]} d="${line}"/>`)
    .join('');
}

function isDrawnQuiet(state: State): boolean {
  return state === 'operational' || HIDING.has(state);
}

/** A line for each run of days whose state is meant. */
function runs(days: readonly Pick<DayView, 'state'>[], isMeant: (state: State) => boolean): string {
  let line = '';
  for (let from = 0; from < days.length; from += 1) {
    let until = from;
    while (until < days.length && isMeant(days[until]?.state ?? 'unknown')) until += 1;
    if (until > from) line += `M${from} 0h${until - from}`;
    from = until;
  }
  return line;
}
