import type { CheckResult, Phases } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { ERROR_TYPES, errorTypeOf } from './error-type.ts';

/*
 * The facts about recorded results that the export needs, as numbers: some are written with every commit, kept until
 * the totals have them, and read by another thread. Places in lists stand for names, so those lists only grow at their
 * end.
 *
 * A note is its version (one byte) and its results. A result is its monitor (double), region, outcome, status code (two
 * bytes), error type, a bit for each number that it has, and those numbers (doubles): latency, certificate, phases.
 * 30 to 70 bytes in all. Bytes are in the order of little endian.
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
const VERSION = 2;
const HEADER_BYTES = 1;
/** Of a result without its numbers. */
const FIXED_BYTES = 14;
const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Latency, certificate, phases. */
const MOST_NUMBERS = 2 + PHASE_NAMES.length;
const MOST_BYTES = FIXED_BYTES + MOST_NUMBERS * NUMBER_BYTES;

const REGION_PLACES: ReadonlyMap<Region, number> = new Map(REGIONS.map((region, place) => [region, place]));
/** A region or an error type that nobody knows. */
const UNKNOWN = 255;

/** A result that is recorded for the first time. */
export type NotedResult = { readonly result: CheckResult; readonly region: Region };

/** Used again for each note, so that a note makes no more garbage than its own bytes. */
let scratch = new DataView(new ArrayBuffer(64 * MOST_BYTES));

/** The results as bytes; those that did not run are left out. Null: none is left. */
export function encodeNote(results: readonly NotedResult[]): Uint8Array | null {
  const counted = results.filter(({ result }) => result.outcome !== 'not_run');
  if (counted.length === 0) return null;
  const most = HEADER_BYTES + counted.length * MOST_BYTES;
  if (scratch.byteLength < most) scratch = new DataView(new ArrayBuffer(most));
  scratch.setUint8(0, VERSION);
  let at = HEADER_BYTES;
  for (const noted of counted) at = write(scratch, at, noted);
  return new Uint8Array(scratch.buffer.slice(0, at));
}

/** @returns the place after it */
function write(view: DataView, at: number, { result, region }: NotedResult): number {
  const { outcome, phases = {} } = result;
  view.setFloat64(at, result.monitor, true);
  view.setUint8(at + 8, REGION_PLACES.get(region) ?? UNKNOWN);
  view.setUint8(at + 9, outcome === 'passed' ? 0 : outcome === 'degraded' ? 1 : 2);
  // 0: none. A probe takes codes of three digits only.
  view.setUint16(at + 10, (result.status_code ?? -1) + 1, true);
  view.setUint8(at + 12, outcome === 'failed' ? errorPlaceOf(result) + 1 : 0);
  let bits = 0;
  let next = at + FIXED_BYTES;
  const put = (bit: number, value: number | undefined) => {
    if (value === undefined) return;
    bits |= 1 << bit;
    view.setFloat64(next, value, true);
    next += NUMBER_BYTES;
  };
  put(0, result.latency);
  put(1, result.certificate_expires_at);
  for (let phase = 0; phase < PHASE_NAMES.length; phase += 1) {
    put(2 + phase, phases[PHASE_NAMES[phase] as keyof Phases]);
  }
  view.setUint8(at + 13, bits);
  return next;
}

function errorPlaceOf({ error_message: message, timed_out: timedOut }: CheckResult): number {
  return ERROR_TYPES.indexOf(errorTypeOf(message, timedOut === true));
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
 * @returns false: the layout is another, or the note ends within a result
 */
export function readNote(bytes: Uint8Array, each: (result: ReadResult) => void): boolean {
  if (bytes[0] !== VERSION) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
  let at = HEADER_BYTES;
  while (at + FIXED_BYTES <= bytes.length) {
    const next = at + FIXED_BYTES + NUMBER_BYTES * ones(view.getUint8(at + 13));
    if (next > bytes.length) return false;
    read(view, at, result);
    each(result);
    at = next;
  }
  return at === bytes.length;
}

function read(view: DataView, at: number, result: ReadResult): void {
  result.monitorId = view.getFloat64(at, true);
  result.region = view.getUint8(at + 8);
  result.outcome = view.getUint8(at + 9);
  const code = view.getUint16(at + 10, true);
  result.statusCode = code === 0 ? Number.NaN : code - 1;
  const error = view.getUint8(at + 12);
  result.errorType = error === 0 ? Number.NaN : error - 1;
  const bits = view.getUint8(at + 13);
  let next = at + FIXED_BYTES;
  const take = (bit: number): number => {
    if ((bits & (1 << bit)) === 0) return Number.NaN;
    const value = view.getFloat64(next, true);
    next += NUMBER_BYTES;
    return value;
  };
  result.latencyMs = take(0);
  result.certificateExpiresAt = take(1);
  for (let phase = 0; phase < PHASE_NAMES.length; phase += 1) result.phases[phase] = take(2 + phase);
}

/** Bits of the byte that are set. */
function ones(byte: number): number {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
