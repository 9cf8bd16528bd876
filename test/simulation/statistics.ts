import { VIOLATIONS, type ViolationKind } from './oracle/oracle.ts';
import type { Outcome } from './outcome.ts';

const YEAR_MS = 365.25 * 86_400_000;

/** The sums of many worlds. They are plain data, because processes send them to each other. */
export type Statistics = {
  worlds: number;
  events: number;
  announcements: number;
  confirmed: number;
  unannounced: number;
  outages: number;
  late: number;
  missed: number;
  falseAlarms: number;
  watchedMs: number;
  /** Seeds of failing worlds by the kind of their first violation. */
  failing: Record<ViolationKind, number[]>;
};

export function noStatistics(): Statistics {
  return {
    worlds: 0,
    events: 0,
    announcements: 0,
    confirmed: 0,
    unannounced: 0,
    outages: 0,
    late: 0,
    missed: 0,
    falseAlarms: 0,
    watchedMs: 0,
    failing: Object.fromEntries(VIOLATIONS.map((kind) => [kind, []])) as unknown as Statistics['failing'],
  };
}

export function addWorld(sum: Statistics, seed: number, outcome: Outcome): void {
  sum.worlds += 1;
  sum.events += outcome.events;
  sum.announcements += outcome.announcements;
  sum.confirmed += outcome.confirmed;
  sum.unannounced += outcome.unannounced;
  sum.outages += outcome.outages.outages;
  sum.late += outcome.outages.late;
  sum.missed += outcome.outages.missed;
  sum.falseAlarms += outcome.outages.falseAlarms;
  sum.watchedMs += outcome.outages.watchedMs;
  const first = outcome.violations[0];
  if (first !== undefined) sum.failing[first.kind].push(seed);
}

export function addStatistics(sum: Statistics, other: Statistics): void {
  for (const name of SUMMED) sum[name] += other[name];
  for (const kind of VIOLATIONS) sum.failing[kind].push(...other.failing[kind]);
}

export function failingSeeds({ failing }: Statistics): number[] {
  return VIOLATIONS.flatMap((kind) => failing[kind]).sort((a, b) => a - b);
}

/** @param tookMs real time */
export function describeStatistics(sum: Statistics, tookMs: number): string {
  const years = sum.watchedMs / YEAR_MS;
  return [
    `${sum.worlds} worlds, ${sum.events} events, ${Math.round((sum.events / tookMs) * 1_000)} events/s, ${years.toFixed(1)} monitor years`,
    `confirmed outages: ${sum.confirmed}, of them unannounced: ${sum.unannounced}; announcements: ${sum.announcements}`,
    `real outages of two slots and more: ${sum.outages}, late: ${sum.late}, missed: ${sum.missed}`,
    `false alarms: ${sum.falseAlarms} (${(sum.falseAlarms / years).toFixed(1)} per monitor and year)`,
    ...VIOLATIONS.filter((kind) => sum.failing[kind].length > 0).map(
      (kind) =>
        `FAILING ${kind}: ${sum.failing[kind].length} worlds, seeds ${sum.failing[kind].slice(0, 20).join(', ')}`,
    ),
  ].join('\n');
}

const SUMMED = [
  'worlds',
  'events',
  'announcements',
  'confirmed',
  'unannounced',
  'outages',
  'late',
  'missed',
  'falseAlarms',
  'watchedMs',
] as const;
