import { jsonOrUndefined } from '@svc/shared/json.ts';
import { phases } from '@svc/shared/messages/check-result.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import { z } from 'zod';
import { COUNTED_OUTCOMES, type CountedResult } from '../store/export-totals.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { countDuration, emptyHistogram, type HistogramKind, histogram } from './histograms.ts';

/**
 * Maximum number of series of durations that a monitor has in one region. The checks of further series are
 * counted together in one additional series.
 */
export const MOST_DURATION_SERIES = 20;
export const PHASE_NAMES = phases.keyof().options;

const regionTotals = z.object({
  region: z.string(),
  checks: z.record(z.enum(COUNTED_OUTCOMES), z.number()),
  /** Durations of checks with the same outcome, status code and type of error. */
  durations: z.array(
    z.object({
      /** Null: the series that counts all checks beyond {@link MOST_DURATION_SERIES}. */
      outcome: z.enum(COUNTED_OUTCOMES).nullable(),
      statusCode: z.number().optional(),
      errorType: z.string().optional(),
      histogram,
    }),
  ),
  phases: z.partialRecord(z.enum(PHASE_NAMES), histogram),
  /** When the certificate of the target expires, epoch ms; null: no certificate was seen. */
  certificateExpiresAt: z.number().nullable(),
  /** When the last result arrived, epoch ms. */
  seenAt: z.number(),
});
export type RegionTotals = z.infer<typeof regionTotals>;
type DurationSeries = RegionTotals['durations'][number];

/** The exported counts of a monitor. They are stored as JSON. */
const totals = z.object({
  v: z.literal(2),
  /**
   * The values that determine attributes and buckets. If one of them changes, new time series begin at 0.
   */
  identity: z.string(),
  /** When the counts began, epoch ms. */
  startedAt: z.number(),
  regions: z.array(regionTotals),
});
export type Totals = z.infer<typeof totals>;

export function newTotals(identity: string, startedAt: number): Totals {
  return { v: 2, identity, startedAt, regions: [] };
}

/** Parses stored totals; null: they have another identity, or are invalid. */
export function readTotals(text: string, identity: string): Totals | null {
  const { data } = totals.safeParse(jsonOrUndefined(text));
  return data?.identity === identity ? data : null;
}

/** The target, secrets removed. */
export function shownTarget({ target }: LiveMonitor): string {
  return urlSecrets.left(target);
}

export function identityOf(monitor: LiveMonitor, kind: HistogramKind): string {
  return JSON.stringify([monitor.name, monitor.type, shownTarget(monitor), kind]);
}

/** @param at when the result arrived, epoch ms */
export function countResult(into: Totals, result: CountedResult, kind: HistogramKind, at: number): void {
  const region = regionIn(into, result.region);
  const { outcome, latency, certificate_expires_at: expiresAt } = result;
  region.checks[outcome] += 1;
  region.seenAt = at;
  // A failed check may have ended before it saw the certificate. If a check
  // that passed or was degraded reports no certificate, the target has none.
  if (outcome !== 'failed' || expiresAt !== undefined) region.certificateExpiresAt = expiresAt ?? null;
  if (latency !== undefined) countDuration(seriesIn(region, result, kind).histogram, latency);
  for (const phase of PHASE_NAMES) {
    const ms = result.phases?.[phase];
    if (ms === undefined) continue;
    region.phases[phase] ??= emptyHistogram(kind);
    countDuration(region.phases[phase], ms);
  }
}

/** The maximum number of points in an export of these totals. */
export function mostPoints({ regions }: Totals): number {
  const gauges = 6;
  return regions.reduce(
    (sum, { durations }) => sum + COUNTED_OUTCOMES.length + durations.length + PHASE_NAMES.length + 1,
    gauges,
  );
}

function regionIn({ regions }: Totals, name: string): RegionTotals {
  const known = regions.find(({ region }) => region === name);
  if (known !== undefined) return known;
  const made: RegionTotals = {
    region: name,
    checks: { passed: 0, degraded: 0, failed: 0 },
    durations: [],
    phases: {},
    certificateExpiresAt: null,
    seenAt: 0,
  };
  regions.push(made);
  return made;
}

function seriesIn({ durations }: RegionTotals, result: CountedResult, kind: HistogramKind): DurationSeries {
  const { outcome, status_code: statusCode, error_type: errorType } = result;
  const known = durations.find(
    (series) =>
      series.outcome === outcome && series.statusCode === statusCode && series.errorType === errorType,
  );
  if (known !== undefined) return known;
  const isBeyond = durations.length >= MOST_DURATION_SERIES;
  const beyond = durations[MOST_DURATION_SERIES];
  if (isBeyond && beyond !== undefined) return beyond;
  const made: DurationSeries = isBeyond
    ? { outcome: null, histogram: emptyHistogram(kind) }
    : { outcome, statusCode, errorType, histogram: emptyHistogram(kind) };
  durations.push(made);
  return made;
}
