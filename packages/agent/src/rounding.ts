import type { Phases } from '@svc/shared/messages/check-result.ts';

const PHASES = ['dns', 'connect', 'tls', 'first_byte', 'transfer'] as const;
type PhaseName = (typeof PHASES)[number];

/** Longest duration of a result, in tenths of a millisecond: one day. */
const MOST_TENTHS = 864_000_000;

/** Rounds to one decimal, within the bounds of a result: 0 to a day. */
export function roundMs(milliseconds: number): number {
  return tenthsOf(milliseconds) / 10;
}

/**
 * Rounds phases to one decimal so that they add up exactly to the shown latency.
 *
 * Each phase is rounded down. The missing tenths go to the phases that lost most. Where the exact phases did
 * not add up, because time passed between two of them, the longest phase takes the difference.
 */
export function roundPhases(latency: number, phases: Phases): Phases {
  const parts: Part[] = [];
  let missing = tenthsOf(latency);
  for (const name of PHASES) {
    const exact = phases[name];
    if (exact === undefined) continue;
    const tenths = Math.min(missing, Math.floor(Math.max(0, exact * 10)));
    parts.push({ name, tenths, lost: exact * 10 - tenths });
    missing -= tenths;
  }
  if (missing > 0) spread(missing, parts);
  const rounded: Phases = {};
  for (const part of parts) rounded[part.name] = part.tenths / 10;
  return rounded;
}

type Part = { name: PhaseName; tenths: number; lost: number };

/** A smaller loss comes from floating point, not from rounding. */
const LOST = 1e-6;

function spread(missing: number, parts: readonly Part[]): void {
  let left = missing;
  for (const part of parts.toSorted((a, b) => b.lost - a.lost)) {
    if (left === 0 || part.lost < LOST) break;
    part.tenths += 1;
    left -= 1;
  }
  if (left === 0 || parts.length === 0) return;
  const longest = parts.reduce((a, b) => (b.tenths > a.tenths ? b : a));
  longest.tenths += left;
}

function tenthsOf(milliseconds: number): number {
  return Math.min(MOST_TENTHS, Math.round(Math.max(0, milliseconds) * 10));
}
