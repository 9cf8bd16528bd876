import { type Html, html, raw } from '../html.ts';

/**
 * The states that pages show. Each state has a shape and a word in addition to its colour, so nobody has to
 * see the colour.
 */
export const STATES = [
  'operational',
  'degraded',
  'partial_outage',
  'down',
  'maintenance',
  'unknown',
] as const;
export type State = (typeof STATES)[number];

/**
 * Paths in 16 × 16 units, filled by the even-odd rule, so that the sign in a shape is a hole: a disc with a
 * tick, a triangle with a stroke, a half-empty disc, a square with a cross, a disc with two bars, a ring.
 */
const SHAPES: Readonly<Record<State, string>> = {
  operational: 'M8 .5a7.5 7.5 0 1 1 0 15a7.5 7.5 0 0 1 0-15zM6.9 11.7l5.2-5.8-1.2-1.1-4 4.5-1.9-1.9-1.1 1.2z',
  degraded:
    'M8 .8a1 1 0 0 1 .87.5l7 12.2a1 1 0 0 1-.87 1.5H1a1 1 0 0 1-.87-1.5l7-12.2A1 1 0 0 1 8 .8zM7.2 5.5v4.6h1.6V5.5zM7.2 11.4V13h1.6v-1.6z',
  partial_outage: 'M8 .5a7.5 7.5 0 1 1 0 15a7.5 7.5 0 0 1 0-15zM8 2.3a5.7 5.7 0 0 0 0 11.4z',
  down: 'M2.5.5h11a2 2 0 0 1 2 2v11a2 2 0 0 1-2 2h-11a2 2 0 0 1-2-2v-11a2 2 0 0 1 2-2zM5.1 4L4 5.1 6.9 8 4 10.9 5.1 12 8 9.1l2.9 2.9 1.1-1.1L9.1 8 12 5.1 10.9 4 8 6.9z',
  maintenance: 'M8 .5a7.5 7.5 0 1 1 0 15a7.5 7.5 0 0 1 0-15zM5.2 4.8v6.4h1.9V4.8zM8.9 4.8v6.4h1.9V4.8z',
  unknown: 'M8 .5a7.5 7.5 0 1 1 0 15a7.5 7.5 0 0 1 0-15zM8 2.4a5.6 5.6 0 1 0 0 11.2a5.6 5.6 0 0 0 0-11.2z',
};

/** The shape of a state in the colour of the surrounding text. The state's word must stand beside it. */
export function stateMark(state: State): Html {
  return raw(
    `<svg class="mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path fill-rule="evenodd" d="${SHAPES[state]}"/></svg>`,
  );
}

/** The path of a state's shape for drawings: 16 × 16 units, filled by the even-odd rule. */
export function statePath(state: State): string {
  return SHAPES[state];
}

/**
 * The shape and word of a state in its colour.
 *
 * @param word in the language of the page
 */
export function stateLabel(state: State, word: string): Html {
  return html`<span class="state state-${state}">${stateMark(state)}${word}</span>`;
}
