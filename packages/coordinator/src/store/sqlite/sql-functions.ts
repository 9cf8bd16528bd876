import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import {
  addEncoded,
  addLatency,
  emptyHistogram,
  encodeHistogram,
  type LatencyHistogram,
} from '../../verdict/latency-histogram.ts';

/**
 * Gives a connection the aggregates of the roll-ups. Latencies become histograms on the reading thread, and
 * only the histograms cross to the main thread.
 *
 * - `latency_histogram(latency)`: a histogram of latencies in ms
 * - `merged_histogram(histogram)`: the sum of stored histograms
 *
 * Both leave out null, and answer a stored histogram, or null for an empty one.
 */
export function registerSqlFunctions(sqlite: DatabaseSync): void {
  const histogramOf = (add: (histogram: LatencyHistogram, value: SQLOutputValue) => void) => ({
    deterministic: true,
    start: emptyHistogram,
    // SQLite takes the function's number of arguments from these parameters: no default values here.
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
