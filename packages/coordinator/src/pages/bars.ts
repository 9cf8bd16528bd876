import type { State } from '../web/design/states.ts';
import type { DayView } from './page-view.ts';

/** Width of a bar with the gap after it, and of the bar alone, in units of the drawing. */
const STEP = 6;
const BAR = 4;

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

export function barClass(state: State): string {
  return CLASSES[state];
}

/** Width of a drawing of so many days. */
export function barsWidth(days: number): number {
  return days * STEP - (STEP - BAR);
}

/**
 * The paths of one bar for each day, oldest first. Days in a row with the same state are one dashed line, whose
 * dashes are the bars, and each state has one path: 90 quiet days need 30 characters.
 */
export function barPaths(days: readonly Pick<DayView, 'state'>[]): string {
  const lines = new Map<State, string>();
  for (let from = 0; from < days.length; ) {
    const state = days[from]?.state ?? 'unknown';
    let until = from + 1;
    while (until < days.length && days[until]?.state === state) until += 1;
    lines.set(state, `${lines.get(state) ?? ''}M${from * STEP} 20h${barsWidth(until - from)}`);
    from = until;
  }
  return [...lines].map(([state, line]) => `<path class="${CLASSES[state]}" d="${line}"/>`).join('');
}
