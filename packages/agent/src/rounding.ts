import type { Phases } from '@svc/shared/messages/check-result.ts';

const PHASES = ['dns', 'connect', 'tls', 'first_byte', 'transfer'] as const;
type PhaseName = (typeof PHASES)[number];

/** Longest duration of a result, in tenths of a millisecond: one day. */
const MOST_TENTHS = 864_000_000;

/** Rounds a duration to one decimal and limits it to the bounds of a result: 0 to one day, in ms. */
export function roundMs(milliseconds: number): number {
  return tenthsOf(milliseconds) / 10;
}

/**
 * Rounds phases to one decimal so that their tenths add up to those of the rounded latency. The result
 * has no phases if `phases` has none.
 *
 * Each phase is rounded down. The missing tenths go to the phases that lost most. If the exact phases add up
 * to less, because time passed between two of them, the longest phase gets the difference. If they add up
 * to more, the last phases are cut.
 */
export function roundPhases(latency: number, phases: Phases): Phases {
  let missing = tenthsOf(latency);
  for (let at = 0; at < PHASES.length; at += 1) {
    const exact = phases[nameOf(at)];
    const tenths = exact === undefined ? 0 : Math.min(missing, Math.floor(Math.max(0, exact * 10)));
    // An absent phase gets the lowest value, so that none of the missing tenths goes to it.
    TENTHS[at] = exact === undefined ? ABSENT : tenths;
    LOST[at] = exact === undefined ? ABSENT : exact * 10 - tenths;
    missing -= tenths;
  }
  if (missing > 0) spread(missing);
  const rounded: Phases = {};
  for (let at = 0; at < PHASES.length; at += 1) {
    const tenths = TENTHS[at] as number;
    if (tenths !== ABSENT) rounded[nameOf(at)] = tenths / 10;
  }
  return rounded;
}

/**
 * Length of each phase, in tenths of a millisecond. All calls
 * share the two arrays, so that a check leaves no garbage.
 */
const TENTHS = new Float64Array(PHASES.length);
/** What each phase has lost by rounding down, in tenths of a millisecond. */
const LOST = new Float64Array(PHASES.length);
const ABSENT = Number.NEGATIVE_INFINITY;

/**
 * Smallest loss that comes from rounding, in tenths of a
 * millisecond. A smaller loss comes from floating point.
 */
const LEAST_LOST = 1e-6;

function spread(missing: number): void {
  let left = missing;
  for (; left > 0; left -= 1) {
    const at = placeOfLargest(LOST);
    if ((LOST[at] as number) < LEAST_LOST) break;
    TENTHS[at] = (TENTHS[at] as number) + 1;
    LOST[at] = 0;
  }
  const longest = placeOfLargest(TENTHS);
  TENTHS[longest] = (TENTHS[longest] as number) + left;
}

/** Index of the largest value. If several are equally large, it is the first index. */
function placeOfLargest(values: Float64Array): number {
  let largest = 0;
  for (let at = 1; at < values.length; at += 1) {
    if ((values[at] as number) > (values[largest] as number)) largest = at;
  }
  return largest;
}

function nameOf(at: number): PhaseName {
  return PHASES[at] as PhaseName;
}

function tenthsOf(milliseconds: number): number {
  return Math.min(MOST_TENTHS, Math.round(Math.max(0, milliseconds) * 10));
}
