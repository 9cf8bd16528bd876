import type { Phases } from '@svc/shared/messages/check-result.ts';

const PHASES = ['dns', 'connect', 'tls', 'first_byte', 'transfer'] as const;
type PhaseName = (typeof PHASES)[number];

/** Longest duration a result may carry, in tenths of a millisecond (a day). */
const MOST_TENTHS = 864_000_000;

/** To one decimal, and into the bounds of a result: 0 to a day. */
export function roundMs(milliseconds: number): number {
  return tenthsOf(milliseconds) / 10;
}

/**
 * Phases to one decimal so that they add up to the rounded latency exactly as it is shown.
 *
 * Each is rounded down, and the tenths that are then missing go to those that lost most. Where the
 * phases did not add up before (time between two phases), the longest one takes the difference.
 */
export function roundPhases(latency: number, phases: Phases): Phases {
  const names = PHASES.filter((name) => phases[name] !== undefined);
  if (names.length === 0) return {};
  const tenths = new Map<PhaseName, number>();
  let missing = tenthsOf(latency);
  for (const name of names) {
    const value = Math.min(missing, Math.floor(Math.max(0, (phases[name] ?? 0) * 10)));
    tenths.set(name, value);
    missing -= value;
  }
  for (const name of byLoss(names, phases, tenths)) {
    if (missing === 0) break;
    tenths.set(name, (tenths.get(name) ?? 0) + 1);
    missing--;
  }
  if (missing > 0) {
    const longest = names.reduce((a, b) => ((tenths.get(b) ?? 0) > (tenths.get(a) ?? 0) ? b : a));
    tenths.set(longest, (tenths.get(longest) ?? 0) + missing);
  }
  return Object.fromEntries(names.map((name) => [name, (tenths.get(name) ?? 0) / 10]));
}

function byLoss(names: readonly PhaseName[], phases: Phases, tenths: Map<PhaseName, number>): PhaseName[] {
  const loss = (name: PhaseName): number => (phases[name] ?? 0) * 10 - (tenths.get(name) ?? 0);
  return [...names].sort((a, b) => loss(b) - loss(a));
}

function tenthsOf(milliseconds: number): number {
  return Math.min(MOST_TENTHS, Math.round(Math.max(0, milliseconds) * 10));
}
