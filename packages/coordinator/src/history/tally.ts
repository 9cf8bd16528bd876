import type { Counts } from '../store/results/result-series.ts';
import {
  addEncoded,
  addHistogram,
  emptyHistogram,
  type LatencyHistogram,
} from '../verdict/latency-histogram.ts';

/** Numbers of results by outcome, and the latencies of results that passed or were degraded. */
export type OutcomeCounts = {
  passed: number;
  degraded: number;
  failed: number;
  notRun: number;
  latency: LatencyHistogram;
};

export function emptyTally(): OutcomeCounts {
  return { passed: 0, degraded: 0, failed: 0, notRun: 0, latency: emptyHistogram() };
}

/** Returns the tally of the key. Creates the tally if it is missing. */
export function tallyOf<K>(tallies: Map<K, OutcomeCounts>, key: K): OutcomeCounts {
  const known = tallies.get(key);
  if (known !== undefined) return known;
  const made = emptyTally();
  tallies.set(key, made);
  return made;
}

/** Adds the counts of a row to a tally. */
export function addCounts(
  tally: OutcomeCounts,
  { passed, degraded, failed, not_run: notRun, latency }: Counts,
): void {
  tally.passed += passed;
  tally.degraded += degraded;
  tally.failed += failed;
  tally.notRun += notRun;
  if (latency !== null) addEncoded(tally.latency, latency);
}

export function addTally(tally: OutcomeCounts, other: OutcomeCounts): void {
  tally.passed += other.passed;
  tally.degraded += other.degraded;
  tally.failed += other.failed;
  tally.notRun += other.notRun;
  addHistogram(tally.latency, other.latency);
}
