import { OUTCOMES, type Outcome } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import {
  addLatency,
  emptyHistogram,
  encodeHistogram,
  type LatencyHistogram,
} from '../../verdict/latency-histogram.ts';
import { hasRegion, NO_REGIONS, type RegionSet } from '../../verdict/region-set.ts';
import { PHASES, ReportReader } from './report-bytes.ts';

/** Numbers of results by outcome, and the stored histogram of their latencies. */
export type Counts = {
  passed: number;
  degraded: number;
  failed: number;
  not_run: number;
  latency: Uint8Array | null;
};

/** The sums of one region's reports. */
export type RegionCounts = Counts & { readonly region: Region };

type RegionSums = { readonly outcomes: Uint32Array; readonly latencies: LatencyHistogram };

/** Sums up the reports about many slots by region. */
export class ReportSums {
  /** Sums by the region's place in `REGIONS`. */
  readonly #regions: (RegionSums | undefined)[] = [];
  readonly #reader = new ReportReader();

  add(reports: Uint8Array): void {
    this.#reader.forEach(reports, this.#addReport);
  }

  /** The sums of each region that has a report. */
  counts(): RegionCounts[] {
    return this.#regions.flatMap((sums, place) => {
      if (sums === undefined) return [];
      const [passed = 0, degraded = 0, failed = 0, not_run = 0] = sums.outcomes;
      const latency = encodeHistogram(sums.latencies);
      return [{ region: REGIONS[place] as Region, passed, degraded, failed, not_run, latency }];
    });
  }

  readonly #addReport = ({ place, outcome, latency }: ReportReader) => {
    this.#regions[place] ??= { outcomes: new Uint32Array(OUTCOMES.length), latencies: emptyHistogram() };
    const { outcomes, latencies } = this.#regions[place];
    const index = OUTCOMES.indexOf(outcome);
    outcomes[index] = (outcomes[index] ?? 0) + 1;
    if (latency !== undefined && countsForLatency(outcome)) addLatency(latencies, latency);
  };
}

/** The number of results with phases, and the sum of each phase, ms. */
export type PhaseTotals = { results: number } & { [Phase in (typeof PHASES)[number]]: number };

/** Sums up the phases of the reports that passed or were degraded. A phase that did not happen counts as 0. */
export class PhaseSums {
  #results = 0;
  /** Sum of each phase, µs. In this unit, tenths of a millisecond add up exactly. */
  readonly #sums = new Float64Array(PHASES.length);
  readonly #reader = new ReportReader();
  #regions = NO_REGIONS;

  /** @param regions the regions whose reports are summed up */
  add(reports: Uint8Array, regions: RegionSet): void {
    this.#regions = regions;
    this.#reader.forEach(reports, this.#addReport);
  }

  totals(): PhaseTotals {
    const [dns, connect, tls, first_byte, transfer] = Array.from(this.#sums, (us) => us / 1_000);
    return { results: this.#results, dns, connect, tls, first_byte, transfer } as PhaseTotals;
  }

  readonly #addReport = (report: ReportReader) => {
    if (!hasRegion(this.#regions, report.region) || !countsForLatency(report.outcome)) return;
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
  const rows = counts.map(({ region, passed, degraded, failed, not_run, latency }) => {
    const histogram = latency === null ? null : Buffer.from(latency).toString('base64');
    return [region, passed, degraded, failed, not_run, histogram] satisfies CountsRow;
  });
  return JSON.stringify(rows);
}

type CountsRow = [Region, number, number, number, number, string | null];

/** Reads the counts from a text that {@link countsText} has written. */
export function countsIn(text: string): RegionCounts[] {
  return (JSON.parse(text) as CountsRow[]).map(([region, passed, degraded, failed, not_run, histogram]) => {
    // The array has memory of its own. A small Buffer shares its memory with other Buffers, and all of that
    // memory would be copied when it is sent to another thread.
    const latency = histogram === null ? null : new Uint8Array(Buffer.from(histogram, 'base64'));
    return { region, passed, degraded, failed, not_run, latency };
  });
}
