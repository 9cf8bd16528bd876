import {
  type Attempt,
  type CheckResult,
  NOT_RUN_REASONS,
  OUTCOMES,
  type Outcome,
  type Phases,
  phases as phasesShape,
} from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { FIXED_NUMBERS, REGIONS_PER_ROW, type RegionNumbers } from './region-numbers.ts';

/*
 * The content of `slot_results.reports`: the reports of the regions about one slot of a monitor, one after
 * the other in the order in which they were recorded. New reports are appended, so a region may have
 * several reports. Its first report that is not `not_run` counts. If all its reports are `not_run`, the first
 * report counts.
 *
 *   report = length  region  flags  [latency]  version  recorded  [agent  started]  [status code]  [phases]
 *            [certificate]  [reason]  [rest]
 *
 * `length` is the number of bytes of the report that follow it. `region` is the number of the region, see
 * `region-numbers.ts`. `flags` contain the outcome, and say which parts the report has. Numbers are LEB128,
 * signed numbers in zigzag. Latency and phases are tenths of a millisecond. The first byte of `phases` has a bit
 * for each phase. If the phases add up to the latency, the last phase is left out, and the highest bit of the
 * first byte is set. Instants are differences from the slot: `recorded` and `started` in ms, `certificate` in s.
 * `agent` is the agent's number, in five bytes, see `agent-names.ts`. `reason` is one byte, the place of the
 * reason in `NOT_RUN_REASONS`.
 *
 * `rest` is JSON, and has the values that the other parts cannot express, such as error messages, the attempts of
 * a check with more than one attempt, and values that no agent sends (a latency of 0.12 ms). A later version may
 * add phases, reasons and regions, and members of `rest`, but no other parts. Readers ignore members, phases and
 * regions that they do not know, and read a reason that they do not know as `internal-error`.
 *
 * Readers throw nothing, because one damaged row must not make a page, a roll-up or the recording of other
 * results fail. If a report has an impossible length, readers ignore it and all reports after it in its row.
 * If `rest` cannot be parsed, readers ignore it.
 */

/**
 * Order of the phases in stored reports. Add new phases only at the end, at most {@link MOST_PHASES} in all,
 * because readers find phases by their position.
 */
export const PHASES = ['dns', 'connect', 'tls', 'first_byte', 'transfer'] as const satisfies (keyof Phases)[];

/** The result of a region's check, or the reason why the region has no result. */
export type Finding = Omit<CheckResult, 'monitor' | 'slot' | 'token' | 'assertions' | 'started_at'> & {
  /** When the check was begun, epoch ms; absent: no agent began the check. */
  readonly started_at?: number;
};

/** One region's report about a slot. */
export type SlotReport = Finding & {
  readonly region: Region;
  /** The number of the agent's name; null: no agent reported, and the coordinator gives the reason. */
  readonly agent: number | null;
  /** Epoch ms. */
  readonly recorded_at: number;
};

const OUTCOME = 0b11;
const HAS_LATENCY = 1 << 2;
const HAS_STATUS_CODE = 1 << 3;
const HAS_PHASES = 1 << 4;
const HAS_CERTIFICATE = 1 << 5;
const HAS_AGENT = 1 << 6;
// Most reports have only the flags above, which take one byte.
/**
 * The attempts of the check are in `rest`; if `rest` has no attempts, the check had none. Without this flag,
 * the check had one attempt.
 */
const HAS_OTHER_ATTEMPTS = 1 << 7;
const HAS_REASON = 1 << 8;
const IS_TIMED_OUT = 1 << 9;
const IS_TRUNCATED = 1 << 10;
const HAS_REST = 1 << 11;

/**
 * Maximum number of phases, including phases that later versions add. One byte has a bit
 * for each phase, and the bit {@link LAST_IS_LEFT_OUT}.
 */
const MOST_PHASES = 7;
/**
 * The bit after the bits of the phases. It says that the last phase is left out,
 * because this phase is the latency minus all other phases.
 */
const LAST_IS_LEFT_OUT = 1 << MOST_PHASES;

const NOT_RUN = OUTCOMES.indexOf('not_run');
const INTERNAL_ERROR = 'internal-error';
const AGENT_BYTES = 5;
/**
 * The greatest number that is packed. Greater numbers could not be shifted, because JavaScript shifts 32-bit
 * numbers.
 */
const MOST_PACKED = 2 ** 31 - 1;
/** The greatest magnitude of a signed number that is packed. */
const MOST_DISTANCE = 2 ** 30 - 1;
/** Upper bound of the size of a report without its rest, bytes. */
const MOST_PARTS = 128;
/** Maximum number of bytes that a UTF-16 code unit takes in UTF-8. */
const BYTES_PER_UNIT = 3;

/**
 * An attempt as `rest` stores it. Values that are the same in the result are left out. A null means that the
 * attempt lacks a value that the result has.
 */
const restAttempt = z.object({
  outcome: z.enum(OUTCOMES).optional(),
  started_ms: z.number().optional(),
  latency: z.number().optional(),
  status_code: z.number().nullish(),
  error_message: z.string().nullish(),
  timed_out: z.boolean().nullish(),
});
type RestAttempt = z.infer<typeof restAttempt>;

const rest = z.object({
  version: z.number().optional(),
  recorded_at: z.number().optional(),
  started_at: z.number().optional(),
  latency: z.number().optional(),
  phases: phasesShape.optional(),
  error_message: z.string().optional(),
  attempts: z.array(restAttempt).optional(),
  timed_out: z.boolean().optional(),
  certificate_expires_at: z.number().optional(),
  body_truncated: z.boolean().optional(),
});
type Rest = z.infer<typeof rest>;

/** Stands for a value that is missing or cannot be packed. */
const ABSENT = -1;

/** A report to append, see {@link ReportWriter.append}. */
export type NewReport = {
  /** The number of the region, see `region-numbers.ts`. */
  readonly number: number;
  readonly agent: number | null;
  /** Epoch ms. */
  readonly recordedAt: number;
  readonly found: Finding;
};

/** Packs reports into one buffer, which is reused. */
export class ReportWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(16 * 1_024);
  #length = 0;

  /** Number of bytes written since the last {@link clear}. */
  get length(): number {
    return this.#length;
  }

  /** Discards all reports. The next report is written at the beginning of the buffer. */
  clear(): void {
    this.#length = 0;
  }

  /** A copy of all written bytes. */
  copy(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.subarray(0, this.#length));
  }

  append(slot: number, { number, agent, recordedAt, found }: NewReport): void {
    const { outcome, version, latency, phases, reason } = found;
    const { status_code: statusCode, started_at: startedAt, certificate_expires_at: expiresAt } = found;
    const isOnce = isOneAttempt(found);
    const latencyTenths = packedTenths(latency);
    const phaseBits = phases === undefined ? ABSENT : packPhases(phases, latencyTenths);
    const recorded = packedDistance(recordedAt - slot);
    const started = startedAt === undefined ? ABSENT : packedDistance(startedAt - slot);
    const expires = expiresAt === undefined ? ABSENT : packedDistance(secondsFrom(slot, expiresAt));

    const rest: Rest = {};
    if (version > MOST_PACKED) rest.version = version;
    if (recorded === ABSENT) rest.recorded_at = recordedAt;
    if (startedAt !== undefined && (started === ABSENT || agent === null)) rest.started_at = startedAt;
    if (latency !== undefined && latencyTenths === ABSENT) rest.latency = latency;
    if (phases !== undefined && phaseBits === ABSENT) rest.phases = phases;
    if (found.error_message !== undefined) rest.error_message = found.error_message;
    if (!isOnce && found.attempts.length > 0)
      rest.attempts = found.attempts.map((one) => shorter(one, found));
    if (found.timed_out === false) rest.timed_out = false;
    if (expiresAt !== undefined && expires === ABSENT) rest.certificate_expires_at = expiresAt;
    if (found.body_truncated === false) rest.body_truncated = false;
    const text = hasMembers(rest) ? JSON.stringify(rest) : '';

    this.#reserve(MOST_PARTS + text.length * BYTES_PER_UNIT);
    const start = this.#length;
    // One byte is left for the length, which usually fits in it.
    this.#length += 1;
    this.#number(number);
    this.#number(
      OUTCOMES.indexOf(outcome) |
        (latencyTenths === ABSENT ? 0 : HAS_LATENCY) |
        (statusCode === undefined ? 0 : HAS_STATUS_CODE) |
        (phaseBits === ABSENT ? 0 : HAS_PHASES) |
        (expires === ABSENT ? 0 : HAS_CERTIFICATE) |
        (agent === null ? 0 : HAS_AGENT) |
        (isOnce ? 0 : HAS_OTHER_ATTEMPTS) |
        (reason === undefined ? 0 : HAS_REASON) |
        (found.timed_out === true ? IS_TIMED_OUT : 0) |
        (found.body_truncated === true ? IS_TRUNCATED : 0) |
        (text === '' ? 0 : HAS_REST),
    );
    if (latencyTenths !== ABSENT) this.#number(latencyTenths);
    this.#number(Math.min(version, MOST_PACKED));
    this.#number(Math.max(recorded, 0));
    if (agent !== null) {
      this.#agent(agent);
      this.#number(Math.max(started, 0));
    }
    if (statusCode !== undefined) this.#number(statusCode);
    if (phaseBits !== ABSENT) this.#phases(phaseBits);
    if (expires !== ABSENT) this.#number(expires);
    if (reason !== undefined) this.#byte(NOT_RUN_REASONS.indexOf(reason));
    if (text !== '') this.#length += this.#bytes.write(text, this.#length, 'utf8');
    this.#writeLength(start);
  }

  #writeLength(start: number): void {
    const size = this.#length - start - 1;
    const more = bytesOf(size) - 1;
    if (more > 0) this.#bytes.copyWithin(start + 1 + more, start + 1, this.#length);
    this.#length = start;
    this.#number(size);
    this.#length += size;
  }

  #phases(bits: number): void {
    this.#byte(bits);
    const last = (bits & LAST_IS_LEFT_OUT) === 0 ? ABSENT : lastOf(bits);
    for (let place = 0; place < PHASES.length; place += 1) {
      if ((bits & (1 << place)) !== 0 && place !== last) this.#number(TENTHS[place] as number);
    }
  }

  #agent(number: number): void {
    const high = Math.floor(number / 2 ** 32);
    this.#byte(high);
    this.#length = this.#bytes.writeUInt32BE(number - high * 2 ** 32, this.#length);
  }

  #byte(value: number): void {
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  /** @param value 0 to {@link MOST_PACKED} */
  #number(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.#byte((rest & 0x7f) | 0x80);
    this.#byte(rest);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Working memory of {@link packPhases}: tenths of a millisecond, by the phase's place in {@link PHASES}. */
const TENTHS = new Float64Array(PHASES.length);

/**
 * Puts the phases into {@link TENTHS}, and returns their bits; {@link ABSENT}: the phases cannot be packed.
 */
function packPhases(phases: Phases, latencyTenths: number): number {
  let bits = 0;
  let sum = 0;
  for (let place = 0; place < PHASES.length; place += 1) {
    const ms = phases[PHASES[place] as keyof Phases];
    if (ms === undefined) continue;
    const tenths = packedTenths(ms);
    if (tenths === ABSENT) return ABSENT;
    TENTHS[place] = tenths;
    sum += tenths;
    bits |= 1 << place;
  }
  return bits !== 0 && sum === latencyTenths ? bits | LAST_IS_LEFT_OUT : bits;
}

/** The highest place of a set bit among the bits of the phases. At least one bit must be set. */
function lastOf(bits: number): number {
  return 31 - Math.clz32(bits & (LAST_IS_LEFT_OUT - 1));
}

function packedTenths(ms: number | undefined): number {
  if (ms === undefined) return ABSENT;
  const tenths = Math.round(ms * 10);
  return tenths >= 0 && tenths <= MOST_PACKED && tenths / 10 === ms ? tenths : ABSENT;
}

/** A signed number in zigzag encoding; {@link ABSENT}: it cannot be packed. */
function packedDistance(distance: number): number {
  if (!Number.isInteger(distance) || Math.abs(distance) > MOST_DISTANCE) return ABSENT;
  return distance < 0 ? -2 * distance - 1 : 2 * distance;
}

function unpackedDistance(packed: number): number {
  return packed % 2 === 0 ? packed / 2 : -(packed + 1) / 2;
}

/**
 * Seconds from the slot's second to an instant. The result is not an integer if the instant is not a whole
 * second.
 */
function secondsFrom(slot: number, instant: number): number {
  return instant / 1_000 - Math.floor(slot / 1_000);
}

/** Number of bytes that a number takes in LEB128. */
function bytesOf(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) bytes += 1;
  return bytes;
}

function hasMembers(object: object): boolean {
  for (const _ in object) return true;
  return false;
}

/** Whether the check had only one attempt, whose values are all in the result. */
export function isOneAttempt(found: Finding): boolean {
  const [only] = found.attempts;
  return (
    only !== undefined &&
    found.attempts.length === 1 &&
    only.started_ms === 0 &&
    only.outcome === found.outcome &&
    only.latency === found.latency &&
    only.status_code === found.status_code &&
    only.error_message === found.error_message &&
    only.timed_out === found.timed_out
  );
}

/** The only attempt of a check, made from the result. */
function onlyAttempt({
  outcome,
  latency = 0,
  status_code,
  error_message,
  timed_out,
}: Omit<Finding, 'attempts'>) {
  return {
    outcome,
    started_ms: 0,
    latency,
    ...(status_code === undefined ? {} : { status_code }),
    ...(error_message === undefined ? {} : { error_message }),
    ...(timed_out === undefined ? {} : { timed_out }),
  };
}

function shorter(attempt: Attempt, found: Finding): RestAttempt {
  const short: RestAttempt = {};
  if (attempt.outcome !== found.outcome) short.outcome = attempt.outcome;
  if (attempt.started_ms !== 0) short.started_ms = attempt.started_ms;
  if (attempt.latency !== found.latency) short.latency = attempt.latency;
  if (attempt.status_code !== found.status_code) short.status_code = attempt.status_code ?? null;
  if (attempt.error_message !== found.error_message) short.error_message = attempt.error_message ?? null;
  if (attempt.timed_out !== found.timed_out) short.timed_out = attempt.timed_out ?? null;
  return short;
}

function longer(short: RestAttempt, found: Omit<Finding, 'attempts'>): Attempt {
  const status_code = short.status_code === undefined ? found.status_code : short.status_code;
  const error_message = short.error_message === undefined ? found.error_message : short.error_message;
  const timed_out = short.timed_out === undefined ? found.timed_out : short.timed_out;
  return {
    outcome: short.outcome ?? found.outcome,
    started_ms: short.started_ms ?? 0,
    latency: short.latency ?? found.latency ?? 0,
    ...(status_code == null ? {} : { status_code }),
    ...(error_message == null ? {} : { error_message }),
    ...(timed_out == null ? {} : { timed_out }),
  };
}

const NOWHERE = -1;

/**
 * Reads the reports of one row at a time. It reuses its memory, so that sums over many rows create no
 * garbage.
 */
export class ReportReader {
  #bytes: Uint8Array = new Uint8Array(0);
  /** Where the report of each region of the row begins, by the region's bit in the row, or {@link NOWHERE}. */
  readonly #begins = new Int32Array(REGIONS_PER_ROW);
  /** Position at which the current report ends. */
  #end = 0;
  /** Position at which the parts of the current report after its latency begin. */
  #parts = 0;
  #at = 0;
  #region = 0;
  #flags = 0;
  #latencyTenths = ABSENT;

  /** The number of the current report's region, see `region-numbers.ts`. */
  get number(): number {
    return this.#region;
  }

  get outcome(): Outcome {
    return OUTCOMES[this.#flags & OUTCOME] as Outcome;
  }

  /** Latency of the current report, ms; undefined: the report has no latency. */
  get latency(): number | undefined {
    if (this.#latencyTenths !== ABSENT) return this.#latencyTenths / 10;
    return (this.#flags & HAS_REST) === 0 ? undefined : this.read(0).latency;
  }

  /**
   * Calls `visit` once for each region that has a report in the row, in the order of their numbers. During a
   * call of `visit`, the other members of this reader return the values of the region's report.
   */
  forEach(reports: Uint8Array, visit: (report: ReportReader) => void): void {
    this.#bytes = reports;
    const begins = this.#begins.fill(NOWHERE);
    let ran = 0;
    for (let begin = 0; begin < reports.length; begin = this.#end) {
      if (!this.#open(begin)) break;
      const isRun = (this.#flags & OUTCOME) !== NOT_RUN;
      const place = this.#region % REGIONS_PER_ROW;
      const bit = 1 << place;
      if (begins[place] !== NOWHERE && (!isRun || (ran & bit) !== 0)) continue;
      begins[place] = begin;
      if (isRun) ran |= bit;
    }
    for (let place = 0; place < begins.length; place += 1) {
      if (begins[place] === NOWHERE) continue;
      this.#open(begins[place] as number);
      visit(this);
    }
  }

  /**
   * Returns the current report with all its parts except the name of its region.
   *
   * @param slot epoch ms
   */
  read(slot: number): Omit<SlotReport, 'region'> {
    this.#at = this.#parts;
    const flags = this.#flags;
    const version = this.#number();
    const recorded_at = slot + unpackedDistance(this.#number());
    const agent = (flags & HAS_AGENT) === 0 ? null : this.#agent();
    const started = agent === null ? undefined : slot + unpackedDistance(this.#number());
    const statusCode = (flags & HAS_STATUS_CODE) === 0 ? undefined : this.#number();
    const phases = (flags & HAS_PHASES) === 0 ? undefined : this.#phases();
    const expires = (flags & HAS_CERTIFICATE) === 0 ? undefined : unpackedDistance(this.#number());
    const reason = (flags & HAS_REASON) === 0 ? undefined : (NOT_RUN_REASONS[this.#byte()] ?? INTERNAL_ERROR);
    const { attempts, ...others } = (flags & HAS_REST) === 0 ? NOTHING : this.#rest();
    const found = {
      outcome: this.outcome,
      version,
      recorded_at,
      agent,
      ...(started === undefined ? {} : { started_at: started }),
      ...(reason === undefined ? {} : { reason }),
      ...(this.#latencyTenths === ABSENT ? {} : { latency: this.#latencyTenths / 10 }),
      ...(phases === undefined ? {} : { phases }),
      ...(statusCode === undefined ? {} : { status_code: statusCode }),
      ...((flags & IS_TIMED_OUT) === 0 ? {} : { timed_out: true }),
      ...(expires === undefined
        ? {}
        : { certificate_expires_at: (Math.floor(slot / 1_000) + expires) * 1_000 }),
      ...((flags & IS_TRUNCATED) === 0 ? {} : { body_truncated: true }),
      ...others,
    } as Omit<SlotReport, 'attempts' | 'region'>;
    const isOnce = (flags & HAS_OTHER_ATTEMPTS) === 0;
    return {
      ...found,
      attempts: isOnce ? [onlyAttempt(found)] : (attempts ?? []).map((short) => longer(short, found)),
    };
  }

  /**
   * Makes the report that begins at `begin` the current report. Returns
   * false if the length of the report is impossible.
   */
  #open(begin: number): boolean {
    this.#at = begin;
    const size = this.#number();
    this.#end = this.#at + size;
    if (size < 2 || this.#end > this.#bytes.length) return false;
    this.#region = this.#number();
    this.#flags = this.#number();
    this.#latencyTenths = (this.#flags & HAS_LATENCY) === 0 ? ABSENT : this.#number();
    this.#parts = this.#at;
    return true;
  }

  #phases(): Phases {
    const bits = this.#byte();
    const last = (bits & LAST_IS_LEFT_OUT) === 0 ? NOWHERE : lastOf(bits);
    const phases: Phases = {};
    let left = this.#latencyTenths;
    for (let place = 0; place < MOST_PHASES; place += 1) {
      if ((bits & (1 << place)) === 0) continue;
      const tenths = place === last ? left : this.#number();
      left -= tenths;
      const phase = PHASES[place];
      if (phase !== undefined) phases[phase] = tenths / 10;
    }
    return phases;
  }

  #rest(): Rest {
    try {
      return rest.parse(JSON.parse(UTF_8.decode(this.#bytes.subarray(this.#at, this.#end))));
    } catch {
      return NOTHING; // The rest is damaged, see the top of this file.
    }
  }

  #agent(): number {
    const high = this.#byte();
    let low = 0;
    for (let bytes = 1; bytes < AGENT_BYTES; bytes += 1) low = low * 256 + this.#byte();
    return high * 2 ** 32 + low;
  }

  #byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  #number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte <= 0x7f) return value;
    }
  }
}

const UTF_8 = new TextDecoder();
const NOTHING: Rest = {};
const READER = new ReportReader();

/**
 * The report of each region of a row, in the order of their numbers. A region without a known number is left out.
 *
 * @param isWanted tells whether a report is wanted; other reports are left out and not unpacked
 */
export function readReports(
  slot: number,
  reports: Uint8Array,
  numbers: RegionNumbers = FIXED_NUMBERS,
  isWanted: (region: Region, outcome: Outcome) => boolean = () => true,
): SlotReport[] {
  const found: SlotReport[] = [];
  READER.forEach(reports, (report) => {
    const region = numbers.regionOf(report.number);
    if (region !== undefined && isWanted(region, report.outcome))
      found.push({ region, ...report.read(slot) });
  });
  return found;
}

/** The outcome of each region that has a report in the row, by the region's number. */
export function readOutcomes(reports: Uint8Array): ReadonlyMap<number, Outcome> {
  const outcomes = new Map<number, Outcome>();
  READER.forEach(reports, ({ number, outcome }) => outcomes.set(number, outcome));
  return outcomes;
}
