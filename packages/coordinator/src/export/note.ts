import type { CheckResult, Phases } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { ERROR_TYPES, errorTypeOf } from './error-type.ts';

/*
 * What the export needs to know of recorded results, as numbers: some are written with every commit, kept
 * until the totals have them, and read by another thread. Places in lists stand for names, so those lists only
 * grow at their end.
 */

/** Outcomes that count: `not_run` says nothing about the target, and may be replaced later. */
export const COUNTED_OUTCOMES = ['passed', 'degraded', 'failed'] as const;

export const PHASE_NAMES = [
  'dns',
  'connect',
  'tls',
  'first_byte',
  'transfer',
] as const satisfies (keyof Phases)[];

/** Of the layout. */
const VERSION = 1;
const HEADER = 1;
/** Numbers of one result: monitor, region, outcome, status code, error type, latency, certificate, phases. */
const WIDTH = 7 + PHASE_NAMES.length;

const REGION_PLACES: ReadonlyMap<Region, number> = new Map(REGIONS.map((region, place) => [region, place]));

/** A result that is recorded for the first time. */
export type NotedResult = { readonly result: CheckResult; readonly region: Region };

/** The results as bytes; those that did not run are left out. Null: none is left. */
export function encodeNote(results: readonly NotedResult[]): Uint8Array | null {
  const counted = results.filter(({ result }) => result.outcome !== 'not_run');
  if (counted.length === 0) return null;
  const values = new Float64Array(HEADER + counted.length * WIDTH);
  values[0] = VERSION;
  counted.forEach((noted, index) => {
    write(values, HEADER + index * WIDTH, noted);
  });
  return new Uint8Array(values.buffer);
}

function write(values: Float64Array, at: number, { result, region }: NotedResult): void {
  const { outcome, phases } = result;
  values[at] = result.monitor;
  values[at + 1] = REGION_PLACES.get(region) ?? -1;
  values[at + 2] = outcome === 'passed' ? 0 : outcome === 'degraded' ? 1 : 2;
  values[at + 3] = result.status_code ?? Number.NaN;
  values[at + 4] =
    outcome === 'failed'
      ? ERROR_TYPES.indexOf(errorTypeOf(result.error_message, result.timed_out === true))
      : Number.NaN;
  values[at + 5] = result.latency ?? Number.NaN;
  values[at + 6] = result.certificate_expires_at ?? Number.NaN;
  values[at + 7] = phases?.dns ?? Number.NaN;
  values[at + 8] = phases?.connect ?? Number.NaN;
  values[at + 9] = phases?.tls ?? Number.NaN;
  values[at + 10] = phases?.first_byte ?? Number.NaN;
  values[at + 11] = phases?.transfer ?? Number.NaN;
}

/** One result as it is read: the same object for each, valid until the next. NaN: it has none. */
export type ReadResult = {
  monitorId: number;
  /** In the list of regions. */
  region: number;
  /** In {@link COUNTED_OUTCOMES}. */
  outcome: number;
  statusCode: number;
  /** In {@link ERROR_TYPES}. */
  errorType: number;
  latencyMs: number;
  /** Epoch ms. */
  certificateExpiresAt: number;
  /** ms, in the order of {@link PHASE_NAMES}. */
  readonly phases: number[];
};

/**
 * Calls `each` with every result of a note. A note of another layout (a newer version wrote it) has none.
 *
 * @returns false: the layout is another
 */
export function readNote(bytes: Uint8Array, each: (result: ReadResult) => void): boolean {
  if (bytes.length % Float64Array.BYTES_PER_ELEMENT !== 0) return false;
  // What the database hands out may lie at an address that is no multiple of 8.
  const values = new Float64Array(bytes.slice().buffer);
  if (values[0] !== VERSION) return false;
  const result: ReadResult = {
    monitorId: 0,
    region: 0,
    outcome: 0,
    statusCode: 0,
    errorType: 0,
    latencyMs: 0,
    certificateExpiresAt: 0,
    phases: PHASE_NAMES.map(() => Number.NaN),
  };
  for (let at = HEADER; at + WIDTH <= values.length; at += WIDTH) {
    result.monitorId = values[at] as number;
    result.region = values[at + 1] as number;
    result.outcome = values[at + 2] as number;
    result.statusCode = values[at + 3] as number;
    result.errorType = values[at + 4] as number;
    result.latencyMs = values[at + 5] as number;
    result.certificateExpiresAt = values[at + 6] as number;
    for (let phase = 0; phase < PHASE_NAMES.length; phase += 1) {
      result.phases[phase] = values[at + 7 + phase] as number;
    }
    each(result);
  }
  return true;
}
