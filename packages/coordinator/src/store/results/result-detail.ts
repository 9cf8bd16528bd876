import {
  type Attempt,
  attempt,
  type CheckResult,
  NOT_RUN_REASONS,
  type NotRunReason,
  type Outcome,
  type Phases,
} from '@svc/shared/messages/check-result.ts';
import { TextBytes } from '@svc/shared/text/text-bytes.ts';
import { z } from 'zod';

/** Order of the phases in `results.detail`. Add at the end only: rows are read by position. */
export const PHASES = ['dns', 'connect', 'tls', 'first_byte', 'transfer'] as const satisfies (keyof Phases)[];

/**
 * The content of `results.detail`. To save space it does not repeat the columns: where one attempt was the
 * whole check, `attempts` is left out. Members that a later version adds are ignored.
 */
const detail = z.object({
  reason: z.enum(NOT_RUN_REASONS).optional(),
  started_at: z.number().int().optional(),
  /** ms by position in {@link PHASES}; null, or missing at the end: the phase did not happen. */
  phases: z.array(z.number().nullable()).max(PHASES.length).optional(),
  attempts: z.array(attempt).optional(),
  timed_out: z.boolean().optional(),
  certificate_expires_at: z.number().int().optional(),
  body_truncated: z.boolean().optional(),
});
type Detail = z.infer<typeof detail>;

/** The columns from which a single attempt is rebuilt. */
type Columns = {
  outcome: Outcome;
  latency: number | null;
  status_code: number | null;
  error_message: string | null;
};

export type ResultDetail = Omit<Detail, 'phases' | 'attempts'> & {
  phases?: Phases;
  attempts: Attempt[];
};

/** The text for `results.detail`. */
export function resultDetail(result: CheckResult): string {
  return isUsual(result) ? usualDetail(result) : fullDetail(result);
}

/** Whether the detail of a result has only its start and its phases. */
function isUsual(result: CheckResult): boolean {
  return (
    result.reason === undefined &&
    result.timed_out === undefined &&
    result.certificate_expires_at === undefined &&
    result.body_truncated === undefined &&
    isSaidByColumns(result)
  );
}

/** A buffer that every call writes anew, so that the text of a result leaves no other garbage. */
const DETAIL = new TextBytes(256);

/** Makes the same text as {@link fullDetail} for a usual result, in a twentieth of the time. */
function usualDetail({ started_at, phases }: CheckResult): string {
  DETAIL.cut(0);
  DETAIL.ascii('{"started_at":');
  DETAIL.count(started_at);
  if (phases !== undefined) writePhases(phases);
  DETAIL.ascii('}');
  return DETAIL.asciiText();
}

function writePhases(phases: Phases): void {
  let separator = ',"phases":[';
  let missing = 0;
  for (const name of PHASES) {
    const ms = phases[name];
    if (ms === undefined) {
      missing += 1;
      continue;
    }
    for (; missing > 0; missing -= 1) {
      DETAIL.ascii(separator);
      DETAIL.ascii('null');
      separator = ',';
    }
    DETAIL.ascii(separator);
    DETAIL.decimal(ms);
    separator = ',';
  }
  DETAIL.ascii(separator === ',' ? ']' : ',"phases":[]');
}

function fullDetail(result: CheckResult): string {
  const text = {
    reason: result.reason,
    started_at: result.started_at,
    phases: result.phases && phasesByPlace(result.phases),
    attempts: isSaidByColumns(result) ? undefined : result.attempts,
    timed_out: result.timed_out,
    certificate_expires_at: result.certificate_expires_at,
    body_truncated: result.body_truncated,
  } satisfies { [K in keyof Detail]: Detail[K] | undefined };
  return JSON.stringify(text);
}

/** The text for a region that did not run the check. */
export function abstentionDetail(reason: NotRunReason): string {
  return JSON.stringify({ reason, attempts: [] } satisfies Detail);
}

/** @throws ZodError or SyntaxError for text that svc did not write */
export function readResultDetail(text: string | null, columns: Columns): ResultDetail {
  if (text === null) return { attempts: [] };
  const { phases, attempts, ...rest } = detail.parse(JSON.parse(text));
  const only = attempts === undefined ? onlyAttempt(columns, rest.timed_out) : null;
  return {
    ...rest,
    ...(phases === undefined ? {} : { phases: namedPhases(phases) }),
    attempts: attempts ?? (only === null ? [] : [only]),
  };
}

/** Whether {@link onlyAttempt} can rebuild the attempt from the columns. */
function isSaidByColumns(result: CheckResult): boolean {
  const [only] = result.attempts;
  return (
    only !== undefined &&
    result.attempts.length === 1 &&
    only.started_ms === 0 &&
    only.outcome === result.outcome &&
    only.latency === result.latency &&
    only.status_code === result.status_code &&
    only.error_message === result.error_message &&
    only.timed_out === result.timed_out
  );
}

/** The attempt that was the whole check; null when there was none. */
function onlyAttempt(columns: Columns, timedOut: boolean | undefined): Attempt | null {
  const { outcome, latency, status_code, error_message } = columns;
  if (latency === null) return null;
  return {
    outcome,
    started_ms: 0,
    latency,
    ...(status_code === null ? {} : { status_code }),
    ...(error_message === null ? {} : { error_message }),
    ...(timedOut === undefined ? {} : { timed_out: timedOut }),
  };
}

function phasesByPlace(phases: Phases): (number | null)[] {
  const places: (number | null)[] = PHASES.map((name) => phases[name] ?? null);
  return places.slice(0, places.findLastIndex((ms) => ms !== null) + 1);
}

function namedPhases(places: readonly (number | null)[]): Phases {
  const phases: Phases = {};
  for (const [index, name] of PHASES.entries()) {
    const ms = places[index] ?? null;
    if (ms !== null) phases[name] = ms;
  }
  return phases;
}
