import type { State } from '../design/states.ts';
import { type Html, html } from '../html.ts';
import { drawn } from './chart.ts';
import { type Bar, barsPath, PLOT, stripPath } from './paths.ts';

/**
 * The parts of a column's height that a state fills, 0 to 1. Each state has its own shape: a full bar, a
 * shorter bar, a bar with a gap, three pieces, half a bar, a stub.
 */
const SHAPES: Readonly<Record<State, readonly NonNullable<Bar>[]>> = {
  operational: [{ low: 0, high: 1 }],
  degraded: [{ low: 0, high: 0.72 }],
  partial_outage: [
    { low: 0, high: 0.4 },
    { low: 0.55, high: 1 },
  ],
  down: [
    { low: 0, high: 0.22 },
    { low: 0.36, high: 0.64 },
    { low: 0.78, high: 1 },
  ],
  maintenance: [{ low: 0, high: 0.5 }],
  unknown: [{ low: 0, high: 0.14 }],
};

/**
 * A bar for each column of time, in the shape and colour of its state.
 *
 * @param label a sentence for screen readers
 */
export function renderStatusBars(states: readonly State[], label: string): Html {
  return renderStates(states, label, (bars) => barsPath(bars, 1));
}

/**
 * Like {@link renderStatusBars}, for a small picture with many columns. Neighbouring columns of one
 * state are one shape. So the HTML is smaller, and no seams between columns make the colour paler.
 *
 * @param label a sentence for screen readers
 */
export function renderStatusStrip(states: readonly State[], label: string): Html {
  return renderStates(states, label, stripPath);
}

function renderStates(
  states: readonly State[],
  label: string,
  pathOf: (bars: readonly Bar[]) => string,
): Html {
  const shown = [...new Set(states)];
  const paths = shown.map((state) => {
    const path = SHAPES[state].map((part) => pathOf(states.map((each) => (each === state ? part : null))));
    return drawn(`status-bar state-${state}`, path.join(''));
  });
  return html`<svg class="status-bars" viewBox="0 0 ${PLOT.width} ${PLOT.height}" preserveAspectRatio="none" role="img" aria-label="${label}">${paths}</svg>`;
}
