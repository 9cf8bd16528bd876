import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { DurationHistogram, type HistogramKind, histogramData } from './histogram.ts';
import { MOST_DURATION_SERIES } from './metrics.ts';
import { COUNTED_OUTCOMES, PHASE_NAMES, type ReadResult } from './note.ts';
import { durationKey, OVERFLOW, RegionAttributes } from './region-attributes.ts';

/** Durations of checks that ended the same way. */
export type DurationSeries = {
  /** Outcome, status code and error type as one number; -1: what is beyond the bound. */
  readonly key: number;
  readonly histogram: DurationHistogram;
};

/** A region's totals as they are stored. */
export const storedRegion = z.object({
  region: z.string(),
  /** By outcome, as {@link COUNTED_OUTCOMES} has them. */
  counts: z.array(z.number()),
  durations: z.array(z.tuple([z.number(), histogramData])),
  /** By phase, as {@link PHASE_NAMES} has them. */
  phases: z.array(histogramData.nullable()),
  certificateExpiresAt: z.number().nullable(),
});
export type StoredRegion = z.infer<typeof storedRegion>;

/** What is counted of a monitor in one region. */
export class RegionTotals {
  /** By outcome, as {@link COUNTED_OUTCOMES} has them. */
  readonly counts: number[];
  readonly durations: DurationSeries[];
  /** By phase, as {@link PHASE_NAMES} has them; null: there was none yet. */
  readonly phases: (DurationHistogram | null)[];
  /** Epoch ms; null: none was seen. */
  certificateExpiresAt: number | null;
  readonly attributes: RegionAttributes;
  readonly #region: string;
  readonly #kind: HistogramKind;

  /** @param stored null: nothing is counted yet */
  constructor(region: string, kind: HistogramKind, stored: StoredRegion | null) {
    this.#region = region;
    this.#kind = kind;
    this.attributes = RegionAttributes.of(region);
    this.counts = COUNTED_OUTCOMES.map((_outcome, place) => stored?.counts[place] ?? 0);
    this.durations = (stored?.durations ?? []).map(([key, data]) => ({
      key,
      histogram: DurationHistogram.of(data),
    }));
    this.phases = PHASE_NAMES.map((_phase, place) => {
      const data = stored?.phases[place] ?? null;
      return data === null ? null : DurationHistogram.of(data);
    });
    this.certificateExpiresAt = stored?.certificateExpiresAt ?? null;
  }

  /** Name of a region by its place in a note; null: a newer version knows it. */
  static nameOf(place: number): string | null {
    return REGIONS[place] ?? null;
  }

  /** -1: no such region. */
  static placeOf(name: string): number {
    return (REGIONS as readonly string[]).indexOf(name);
  }

  add(result: ReadResult): void {
    const { outcome, latencyMs, certificateExpiresAt, phases } = result;
    this.counts[outcome] = (this.counts[outcome] ?? 0) + 1;
    if (latencyMs >= 0) this.#seriesOf(durationKey(result)).histogram.record(latencyMs / 1_000);
    if (!Number.isNaN(certificateExpiresAt)) this.certificateExpiresAt = certificateExpiresAt;
    for (let place = 0; place < PHASE_NAMES.length; place += 1) {
      const ms = phases[place] as number;
      if (ms >= 0) this.#phase(place).record(ms / 1_000);
    }
  }

  stored(): StoredRegion {
    return {
      region: this.#region,
      counts: this.counts,
      durations: this.durations.map(({ key, histogram }) => [key, histogram.data]),
      phases: this.phases.map((histogram) => histogram?.data ?? null),
      certificateExpiresAt: this.certificateExpiresAt,
    };
  }

  #phase(place: number): DurationHistogram {
    const known = this.phases[place] ?? null;
    if (known !== null) return known;
    const made = DurationHistogram.empty(this.#kind);
    this.phases[place] = made;
    return made;
  }

  #seriesOf(key: number): DurationSeries {
    // Nearly always the first or the second: a map of them would be larger and slower.
    for (const series of this.durations) if (series.key === key) return series;
    if (this.durations.length >= MOST_DURATION_SERIES && key !== OVERFLOW) return this.#seriesOf(OVERFLOW);
    const made = { key, histogram: DurationHistogram.empty(this.#kind) };
    this.durations.push(made);
    return made;
  }
}
