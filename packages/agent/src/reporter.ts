import type { Clock } from '@svc/shared/clock.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { CheckResult, Outcome } from '@svc/shared/messages/check-result.ts';
import { MESSAGE_VERSION } from '@svc/shared/messages/subjects.ts';
import type { HeldJobs } from './held-jobs.ts';
import type { ResultOutbox } from './result-outbox.ts';

/** Maximum time for which a result waits for others to share its message, ms. */
const BATCH_MS = 250;
/**
 * Maximum time for which a result waits for others when it differs from its monitor's
 * last result, ms. Results of many targets that fail together still share a few messages.
 */
const NEWS_MS = 5;
/** Part of the maximum message size that is reserved for the text around the results, bytes. */
const ENVELOPE_BYTES = 512;

type ReporterParts = {
  agentId: string;
  outbox: Pick<ResultOutbox, 'addBatch'>;
  held: HeldJobs;
  clock: Clock;
};

/** Results that will be sent in one message, in the order in which they came. */
type OpenBatch = {
  readonly texts: string[];
  /** The jobs of the results that are not `not_run`. */
  readonly jobs: { monitor: number; slot: number }[];
  bytes: number;
  /** Latest instant at which the batch goes to the outbox, monotonic ms. */
  flushAt: number;
  cancelFlush: () => void;
  /** Hands the batch to the outbox. */
  readonly flush: () => void;
};

/**
 * Collects results into messages. Each subject has at most one open message. A job stays held
 * until the stream has its result, or until the result is given up. A job whose result is `not_run`
 * is released at once, because it may be sent to this agent again before that result is acknowledged.
 *
 * A result waits up to 250 ms for others, but only 5 ms when it differs from the monitor's last
 * result, because it may change the region's vote. A message has up to 512 results and 256 KiB.
 */
export class Reporter {
  readonly #parts: ReporterParts;
  readonly #head: string;
  readonly #lastOutcomes: LastOutcomes;
  readonly #batches = new Map<string, OpenBatch>();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#head = `{"v":${MESSAGE_VERSION},"agent":${JSON.stringify(parts.agentId)},"results":[`;
    this.#lastOutcomes = new LastOutcomes(parts.clock);
  }

  /**
   * Adds a result to the open message of a subject.
   *
   * @param subject subject for results that the job's batch named
   */
  report(result: CheckResult, subject: string): void {
    const withinMs = this.#lastOutcomes.isNews(result) ? NEWS_MS : BATCH_MS;
    const text = JSON.stringify(result);
    const bytes = Buffer.byteLength(text) + 1;
    let batch = this.#batches.get(subject);
    if (batch !== undefined && batch.bytes + bytes > LIMITS.messageBytes - ENVELOPE_BYTES) {
      batch.flush();
      batch = undefined;
    }
    if (batch === undefined) {
      batch = newBatch(() => this.#flush(subject));
      this.#batches.set(subject, batch);
    }
    batch.texts.push(text);
    batch.bytes += bytes;
    const { monitor, slot, outcome } = result;
    if (outcome === 'not_run') this.#parts.held.release(monitor, slot, 'forgotten');
    else batch.jobs.push({ monitor, slot });
    if (batch.texts.length >= LIMITS.resultsPerMessage) batch.flush();
    else this.#flushWithin(withinMs, batch);
  }

  /** Hands all open batches to the outbox. */
  flush(): void {
    for (const batch of [...this.#batches.values()]) batch.flush();
  }

  /** Lets the batch go to the outbox within `ms`, unless it goes earlier anyway. */
  #flushWithin(ms: number, batch: OpenBatch): void {
    const { clock } = this.#parts;
    const flushAt = clock.monotonic() + ms;
    if (batch.flushAt <= flushAt) return;
    batch.cancelFlush();
    batch.flushAt = flushAt;
    batch.cancelFlush = clock.after(ms, batch.flush);
  }

  #flush(subject: string): void {
    const batch = this.#batches.get(subject);
    if (batch === undefined) return;
    this.#batches.delete(subject);
    batch.cancelFlush();
    this.#parts.outbox.addBatch({
      subject,
      text: `${this.#head}${batch.texts.join(',')}]}`,
      bytes: batch.bytes + this.#head.length + 2,
      results: batch.texts.length,
      onSettled: (how) => this.#release(batch.jobs, how),
    });
  }

  #release(jobs: OpenBatch['jobs'], how: 'kept' | 'dropped'): void {
    for (const { monitor, slot } of jobs) {
      this.#parts.held.release(monitor, slot, how === 'kept' ? 'finished' : 'forgotten');
      if (how === 'dropped') this.#lastOutcomes.forgetMonitor(monitor);
    }
  }
}

function newBatch(flush: () => void): OpenBatch {
  return { texts: [], jobs: [], bytes: 0, flushAt: Number.POSITIVE_INFINITY, cancelFlush: () => {}, flush };
}

/**
 * Minimum time for which a monitor is remembered after its last result that was a vote, ms. It
 * is longer than any period. On a busy agent, the maximum is twice as long.
 */
const REMEMBERED_MS = 7_200_000;
/** Maximum number of monitors in a generation. With more monitors, each is forgotten earlier. */
const GENERATION_LIMIT = 65_536;

type Last = { readonly version: number; readonly outcome: Outcome };

/**
 * The last outcome that this agent reported about each monitor. It shows which results may change
 * the region's vote. A mistake never makes a result wrong; it only changes how long a batch waits.
 *
 * There are two generations of outcomes. The older generation is dropped as a
 * whole, so that neither a timer nor an instant for each monitor is needed.
 */
export class LastOutcomes {
  readonly #clock: Clock;
  readonly #limit: number;
  /** The last outcome by monitor. Null: {@link forgetMonitor} was called. */
  #newer = new Map<number, Last | null>();
  #older = new Map<number, Last | null>();
  #generationStartedAt: number;

  /** @param limit maximum number of monitors in a generation, >= 1 */
  constructor(clock: Clock, limit = GENERATION_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
    this.#generationStartedAt = clock.monotonic();
  }

  /** Number of remembered monitors. A monitor that is in both generations counts twice. */
  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /**
   * Records the result, and returns whether it differs from the last result of its monitor.
   *
   * A result of a monitor that is not remembered differs unless it passed. Otherwise the first passes of
   * tens of thousands of monitors would fill many small messages. The first result of a new version of a
   * remembered monitor always differs. `not_run` is not a vote, so it never differs and is not recorded.
   */
  isNews({ monitor, version, outcome }: Pick<CheckResult, 'monitor' | 'version' | 'outcome'>): boolean {
    if (outcome === 'not_run') return false;
    this.#turnGeneration();
    const last = this.#lastOf(monitor);
    this.#newer.set(monitor, { version, outcome });
    if (last === undefined) return outcome !== 'passed';
    return last?.version !== version || last.outcome !== outcome;
  }

  /**
   * Forgets the last outcome of a remembered monitor, because one of its results was given up.
   * The monitor's next result that is a vote then counts as different.
   */
  forgetMonitor(monitor: number): void {
    if (this.#lastOf(monitor) !== undefined) this.#newer.set(monitor, null);
  }

  #lastOf(monitor: number): Last | null | undefined {
    const newer = this.#newer.get(monitor);
    return newer === undefined ? this.#older.get(monitor) : newer;
  }

  #turnGeneration(): void {
    const now = this.#clock.monotonic();
    const age = now - this.#generationStartedAt;
    if (age < REMEMBERED_MS && this.#newer.size < this.#limit) return;
    this.#older = age < 2 * REMEMBERED_MS ? this.#newer : new Map();
    this.#newer = new Map();
    this.#generationStartedAt = now;
  }
}
