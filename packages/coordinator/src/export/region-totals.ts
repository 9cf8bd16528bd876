import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { withRoom } from './columns.ts';
import { type HistogramKind, Histograms, histogramData } from './histograms.ts';
import { MOST_DURATION_SERIES } from './metrics.ts';
import { COUNTED_OUTCOMES, PHASE_NAMES, type ReadResult } from './note.ts';
import { durationKey, OVERFLOW } from './region-attributes.ts';

const FIRST_ROOM = 64;
const OUTCOMES = COUNTED_OUTCOMES.length;
const FAILED = COUNTED_OUTCOMES.indexOf('failed');
const PHASES = PHASE_NAMES.length;
const NS_PER_MS = 1e6;
/** In a column of places: there is none. */
const NONE = -1;

/** A region's totals as they are stored. */
export const storedRegion = z.object({
  region: z.string(),
  /** By outcome, as {@link COUNTED_OUTCOMES} has them. */
  counts: z.array(z.number()),
  durations: z.array(z.tuple([z.number(), histogramData])),
  /** By phase, as {@link PHASE_NAMES} has them. */
  phases: z.array(histogramData.nullable()),
  certificateExpiresAt: z.number().nullable(),
  /** Of the last result, epoch ms; earlier versions stored none. */
  seenAt: z.number().default(0),
});
export type StoredRegion = z.infer<typeof storedRegion>;

/**
 * The counts of all monitors, with a row for each monitor and region, as columns (see {@link Histograms}). Durations of
 * checks that ended the same way have a histogram, and those of a row are a chain.
 */
export class RegionTotals {
  readonly histograms: Histograms;
  /** By row: the place in the list of regions. */
  regions = new Uint8Array(FIRST_ROOM);
  /** By row and outcome, as {@link COUNTED_OUTCOMES} has them. */
  #checks = new Float64Array(FIRST_ROOM * OUTCOMES);
  /** By row and phase, as {@link PHASE_NAMES} has them: the histogram. */
  #phases = new Int32Array(FIRST_ROOM * PHASES);
  /** By row, epoch ms; NaN: none was seen. */
  #certificates = new Float64Array(FIRST_ROOM);
  /** By row: when the last result came, epoch ms. */
  #seen = new Float64Array(FIRST_ROOM);
  /** By row: the first histogram of durations. */
  #durations = new Int32Array(FIRST_ROOM);
  /** By histogram of durations: how the checks ended, and the next one of the row. */
  #keys = new Int32Array(FIRST_ROOM);
  #nexts = new Int32Array(FIRST_ROOM);
  readonly #unused: number[] = [];
  #size = 0;

  constructor(kind: HistogramKind) {
    this.histograms = new Histograms(kind);
  }

  /**
   * @param region place in the list of regions
   * @returns a row without any check
   */
  add(region: number): number {
    const row = this.#unused.pop() ?? this.#nextRow();
    this.regions[row] = region;
    this.#checks.fill(0, row * OUTCOMES, (row + 1) * OUTCOMES);
    this.#phases.fill(NONE, row * PHASES, (row + 1) * PHASES);
    this.#certificates[row] = Number.NaN;
    this.#seen[row] = 0;
    this.#durations[row] = NONE;
    return row;
  }

  /** Null: a newer version has stored a region that this one does not know. */
  restore(stored: StoredRegion): number | null {
    const region = (REGIONS as readonly string[]).indexOf(stored.region);
    if (region < 0) return null;
    const row = this.add(region);
    const { histograms } = this;
    this.#checks.set(stored.counts.slice(0, OUTCOMES), row * OUTCOMES);
    let last = NONE;
    for (const [key, data] of stored.durations) last = this.#chain(row, last, key, histograms.restore(data));
    stored.phases.slice(0, PHASES).forEach((data, phase) => {
      if (data !== null) this.#phases[row * PHASES + phase] = histograms.restore(data);
    });
    this.#certificates[row] = stored.certificateExpiresAt ?? Number.NaN;
    this.#seen[row] = stored.seenAt;
    return row;
  }

  /** The row may be another's from now on. */
  remove(row: number): void {
    for (const histogram of this.#durationsOf(row)) this.histograms.remove(histogram);
    for (let phase = 0; phase < PHASES; phase += 1) {
      const histogram = this.phase(row, phase);
      if (histogram !== null) this.histograms.remove(histogram);
    }
    this.#unused.push(row);
  }

  /** @param at when the result came, epoch ms */
  count(row: number, result: ReadResult, at: number): void {
    const { outcome, latencyMs, certificateExpiresAt, phases } = result;
    const place = row * OUTCOMES + outcome;
    this.#checks[place] = (this.#checks[place] as number) + 1;
    if (latencyMs >= 0) this.#record(this.#histogramOf(row, durationKey(result)), latencyMs);
    this.#seen[row] = at;
    // A check that failed may have come to no certificate; any other one had none.
    if (outcome !== FAILED || !Number.isNaN(certificateExpiresAt))
      this.#certificates[row] = certificateExpiresAt;
    for (let phase = 0; phase < PHASES; phase += 1) {
      const ms = phases[phase] as number;
      if (ms >= 0) this.#record(this.#phaseOf(row, phase), ms);
    }
  }

  /** @param outcome place in {@link COUNTED_OUTCOMES} */
  checks(row: number, outcome: number): number {
    return this.#checks[row * OUTCOMES + outcome] as number;
  }

  /** When the last result came, epoch ms; 0: not known. */
  seenAt(row: number): number {
    return this.#seen[row] as number;
  }

  /** Epoch ms; null: none was seen. */
  certificateExpiresAt(row: number): number | null {
    const at = this.#certificates[row] as number;
    return Number.isNaN(at) ? null : at;
  }

  /** The place of the histogram; null: the row has no such phase. `phase` is a place in {@link PHASE_NAMES}. */
  phase(row: number, phase: number): number | null {
    return placeOrNull(this.#phases[row * PHASES + phase]);
  }

  /** Place of the first histogram of durations; null: there is none. */
  firstDuration(row: number): number | null {
    return placeOrNull(this.#durations[row]);
  }

  /** Place of the one after it; null: it is the last of its row. */
  nextDuration(histogram: number): number | null {
    return placeOrNull(this.#nexts[histogram]);
  }

  /** How the checks of a histogram of durations ended, as {@link durationKey} says it. */
  durationKey(histogram: number): number {
    return this.#keys[histogram] as number;
  }

  stored(row: number): StoredRegion {
    const { histograms } = this;
    return {
      region: REGIONS[this.regions[row] as number] ?? '',
      counts: COUNTED_OUTCOMES.map((_outcome, place) => this.checks(row, place)),
      durations: this.#durationsOf(row).map((at) => [this.durationKey(at), histograms.data(at)]),
      phases: PHASE_NAMES.map((_phase, place) => {
        const histogram = this.phase(row, place);
        return histogram === null ? null : histograms.data(histogram);
      }),
      certificateExpiresAt: this.certificateExpiresAt(row),
      seenAt: this.seenAt(row),
    };
  }

  #durationsOf(row: number): number[] {
    const found: number[] = [];
    for (let at = this.firstDuration(row); at !== null; at = this.nextDuration(at)) found.push(at);
    return found;
  }

  #record(histogram: number, ms: number): void {
    this.histograms.record(histogram, Math.round(ms * NS_PER_MS));
  }

  #phaseOf(row: number, phase: number): number {
    const known = this.phase(row, phase);
    if (known !== null) return known;
    const made = this.histograms.add();
    this.#phases[row * PHASES + phase] = made;
    return made;
  }

  #histogramOf(row: number, key: number): number {
    // Nearly always the first or the second: a map of them would be larger and slower.
    let last = NONE;
    let found = 0;
    for (let at = this.#durations[row] as number; at !== NONE; at = this.#nexts[at] as number) {
      if (this.#keys[at] === key) return at;
      last = at;
      found += 1;
    }
    if (found >= MOST_DURATION_SERIES && key !== OVERFLOW) return this.#histogramOf(row, OVERFLOW);
    return this.#chain(row, last, key, this.histograms.add());
  }

  /** Makes the histogram the next one of the row, after `last`. */
  #chain(row: number, last: number, key: number, histogram: number): number {
    this.#keys = withRoom(this.#keys, histogram + 1);
    this.#nexts = withRoom(this.#nexts, histogram + 1);
    this.#keys[histogram] = key;
    this.#nexts[histogram] = NONE;
    if (last === NONE) this.#durations[row] = histogram;
    else this.#nexts[last] = histogram;
    return histogram;
  }

  #nextRow(): number {
    const row = this.#size;
    this.#size += 1;
    this.regions = withRoom(this.regions, this.#size);
    this.#checks = withRoom(this.#checks, this.#size * OUTCOMES);
    this.#phases = withRoom(this.#phases, this.#size * PHASES);
    this.#certificates = withRoom(this.#certificates, this.#size);
    this.#seen = withRoom(this.#seen, this.#size);
    this.#durations = withRoom(this.#durations, this.#size);
    return row;
  }
}

function placeOrNull(place: number | undefined): number | null {
  return place === undefined || place === NONE ? null : place;
}
