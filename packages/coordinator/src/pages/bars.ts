import type { State } from '../web/design/states.ts';
import type { DayView } from './page-view.ts';

/**
 * CSS class of the bars of each state. The styles give each class a colour
 * and a height, so that people who see no colours can tell the states apart.
 */
const CLASSES: Readonly<Record<State, string>> = {
  operational: 'o',
  unknown: 'u',
  maintenance: 'm',
  degraded: 'd',
  partial_outage: 'p',
  down: 'e',
};

/** The states that a day can have, in the order of the legend. */
export const BAR_STATES = ['operational', 'degraded', 'down', 'maintenance', 'unknown'] as const;

/** Returns the CSS class of a state's bars, and of the word that names the state. */
export function barClass(state: State): string {
  return CLASSES[state];
}

/** States with bars that are higher than the bars of operational days and cover them. */
const HIDING: ReadonlySet<State> = new Set(['degraded', 'partial_outage', 'down']);

/**
 * Returns the `viewBox` for the bars of this number of days.
 * A day is 1 unit wide, and its bar is a line at y = 0.
 */
export function barsBox(days: number): string {
  return `0 -20 ${days} 40`;
}

/**
 * Makes the paths that draw one bar for each day, oldest first. There is one path for each state.
 * Consecutive days of one state are one dashed line, whose dashes are the bars. The line of operational days
 * continues below higher bars, which are drawn later. So 89 quiet days and one outage take 54 characters.
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

/** Makes SVG path data with one line for each run of consecutive days whose state `isMeant` accepts. */
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
