import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import {
  addEncoded,
  addLatency,
  emptyHistogram,
  encodeHistogram,
  type LatencyHistogram,
} from '../domain/latency-histogram.ts';

/**
 * Gives a connection the aggregates of roll-ups, so that latencies become histograms where they are
 * read and only those cross to the main thread:
 *
 * - `latency_histogram(latency)`: of latencies in ms, null is left out
 * - `merged_histogram(histogram)`: of stored histograms, null is left out
 *
 * Both answer a stored histogram, or null for an empty one.
 */
export function registerSqlFunctions(sqlite: DatabaseSync): void {
  const histogramOf = (add: (histogram: LatencyHistogram, value: SQLOutputValue) => void) => ({
    deterministic: true,
    start: emptyHistogram,
    // The number of its parameters tells SQLite how many the function takes: no default here.
    step(histogram: LatencyHistogram, value: SQLOutputValue) {
      add(histogram, value);
      return histogram;
    },
    result: encodeHistogram,
  });
  sqlite.aggregate(
    'latency_histogram',
    histogramOf((histogram, value) => {
      if (typeof value === 'number') addLatency(histogram, value);
    }),
  );
  sqlite.aggregate(
    'merged_histogram',
    histogramOf((histogram, value) => {
      if (value instanceof Uint8Array) addEncoded(histogram, value);
    }),
  );
}
