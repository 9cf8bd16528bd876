import { OUTCOMES, type Outcome } from '@svc/shared/messages/check-result.ts';
import {
  addLatency,
  emptyHistogram,
  encodeHistogram,
  type LatencyHistogram,
} from '../../verdict/latency-histogram.ts';
import { PHASES, ReportReader } from './report-bytes.ts';

/**
 * Numbers of results by outcome, and the encoded histogram of the latencies of those that passed or were degraded;
 * null: there are no such latencies.
 */
export type Counts = {
  passed: number;
  degraded: number;
  failed: number;
  not_run: number;
  latency: Uint8Array | null;
};

/** The sums of one region's reports. `number`: the number of the region, see `region-numbers.ts`. */
export type RegionCounts = Counts & { readonly number: number };

type RegionSums = { readonly outcomes: Uint32Array; readonly latencies: LatencyHistogram };

/** Sums up the reports about many slots by region. */
export class ReportSums {
  /** Sums by the region's number. */
  readonly #regions = new Map<number, RegionSums>();
  readonly #reader = new ReportReader();

  add(reports: Uint8Array): void {
    this.#reader.forEach(reports, this.#addReport);
  }

  /** The sums of each region that has a report. */
  counts(): RegionCounts[] {
    return Array.from(this.#regions, ([number, sums]) => {
      const [passed = 0, degraded = 0, failed = 0, not_run = 0] = sums.outcomes;
      const latency = encodeHistogram(sums.latencies);
      return { number, passed, degraded, failed, not_run, latency };
    });
  }

  readonly #addReport = ({ number, outcome, latency }: ReportReader) => {
    let sums = this.#regions.get(number);
    if (sums === undefined) {
      sums = { outcomes: new Uint32Array(OUTCOMES.length), latencies: emptyHistogram() };
      this.#regions.set(number, sums);
    }
    const { outcomes, latencies } = sums;
    const index = OUTCOMES.indexOf(outcome);
    outcomes[index] = (outcomes[index] ?? 0) + 1;
    if (latency !== undefined && countsForLatency(outcome)) addLatency(latencies, latency);
  };
}

/** Stands for the number of a region where reports of all regions are summed up. */
export const EVERY_REGION = -1;

/** The number of results with phases, and the sum of each phase, ms. */
export type PhaseTotals = { results: number } & { [Phase in (typeof PHASES)[number]]: number };

/** Sums up the phases of the reports that passed or were degraded. A phase that did not happen counts as 0. */
export class PhaseSums {
  #results = 0;
  /** Sum of each phase, µs. In this unit, tenths of a millisecond add up exactly. */
  readonly #sums = new Float64Array(PHASES.length);
  readonly #reader = new ReportReader();
  #region = EVERY_REGION;

  /** @param region the number of the region whose reports are summed up, or {@link EVERY_REGION} */
  add(reports: Uint8Array, region: number): void {
    this.#region = region;
    this.#reader.forEach(reports, this.#addReport);
  }

  totals(): PhaseTotals {
    const [dns, connect, tls, first_byte, transfer] = Array.from(this.#sums, (us) => us / 1_000);
    return { results: this.#results, dns, connect, tls, first_byte, transfer } as PhaseTotals;
  }

  readonly #addReport = (report: ReportReader) => {
    if (this.#region !== EVERY_REGION && this.#region !== report.number) return;
    if (!countsForLatency(report.outcome)) return;
    const { phases } = report.read(0);
    if (phases === undefined) return;
    this.#results += 1;
    for (const [place, phase] of PHASES.entries()) {
      this.#sums[place] = (this.#sums[place] ?? 0) + Math.round((phases[phase] ?? 0) * 1_000);
    }
  };
}

/**
 * Whether latencies of this outcome count. Failures do not count, because their latency is the time until the
 * failure.
 */
function countsForLatency(outcome: Outcome): boolean {
  return outcome === 'passed' || outcome === 'degraded';
}

/** Writes counts by region as the text in which a reading thread sends them to the main thread. */
export function countsText(counts: readonly RegionCounts[]): string {
  const rows = counts.map(({ number, passed, degraded, failed, not_run, latency }) => {
    const histogram = latency === null ? null : Buffer.from(latency).toString('base64');
    return [number, passed, degraded, failed, not_run, histogram] satisfies CountsRow;
  });
  return JSON.stringify(rows);
}

type CountsRow = [number, number, number, number, number, string | null];

/** Reads the counts from a text that {@link countsText} has written. */
export function countsIn(text: string): RegionCounts[] {
  return (JSON.parse(text) as CountsRow[]).map(([number, passed, degraded, failed, not_run, histogram]) => {
    // The array has memory of its own. A small Buffer shares its memory with other Buffers, and all of that
    // memory would be copied when it is sent to another thread.
    const latency = histogram === null ? null : new Uint8Array(Buffer.from(histogram, 'base64'));
    return { number, passed, degraded, failed, not_run, latency };
  });
}
