import type { Clock } from '@svc/shared/clock.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { asFirstReason, type CheckResult } from '@svc/shared/messages/check-result.ts';
import type { JobKey } from '@svc/shared/messages/heartbeat.ts';
import { MESSAGE_VERSION } from '@svc/shared/messages/subjects.ts';
import type { HeldJobs } from './held-jobs.ts';
import { LastOutcomes } from './last-outcomes.ts';
import type { ResultOutbox } from './result-outbox.ts';

/** Longest time that a result waits for others to share its message, where its job named a subject, ms. */
const LARGE_BATCH_MS = 250;
/**
 * The same for a result that differs from its monitor's last one, ms. An outage of many targets still makes
 * few messages.
 */
const NEWS_MS = 5;
/** The same where the job named no subject, ms. Version 0.1 did this. */
const SMALL_BATCH_MS = 50;
/** Room for the envelope around the results, bytes. */
const ENVELOPE_BYTES = 512;

export type ReporterParts = {
  agentId: string;
  /** Subject for the results of jobs that named none. */
  subject: string;
  outbox: Pick<ResultOutbox, 'add'>;
  held: HeldJobs;
  clock: Clock;
};

/** Results that will share a message, in the order in which they came. */
type OpenBatch = {
  readonly texts: string[];
  readonly jobs: { key: JobKey; isFinal: boolean }[];
  bytes: number;
  /** When the batch is sent at the latest, monotonic ms. */
  flushAt: number;
  cancelFlush: () => void;
  /** Hands the batch to the outbox. */
  readonly flush: () => void;
};

/**
 * Collects results into messages, with one open message for each subject. A job stays held until the stream
 * has its result.
 *
 * A job whose batch named a subject has a coordinator that reads up to 512 results a message. Its result
 * waits up to 250 ms for others, but only 5 ms when it differs from the monitor's last one, because it may
 * then change the region's vote. All other results go as version 0.1 sent them: up to 64 in a message, after
 * at most 50 ms. The two sorts never share a message, not even on the same subject. No message is longer than
 * 256 KiB.
 */
export class Reporter {
  readonly #parts: ReporterParts;
  readonly #head: string;
  readonly #lastOutcomes: LastOutcomes;
  readonly #small = new Map<string, OpenBatch>();
  readonly #large = new Map<string, OpenBatch>();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#head = `{"v":${MESSAGE_VERSION},"agent":${JSON.stringify(parts.agentId)},"results":[`;
    this.#lastOutcomes = new LastOutcomes(parts.clock);
  }

  /** @param subject subject that the job's batch named; null when it named none */
  report(result: CheckResult, subject: string | null): void {
    // Asked for either sort, because the monitor's next result is compared with this one.
    const isNews = this.#lastOutcomes.isNews(result);
    if (subject === null) {
      this.#add(this.#small, this.#parts.subject, forFirstVersion(result), SMALL_BATCH_MS);
    } else {
      this.#add(this.#large, subject, result, isNews ? NEWS_MS : LARGE_BATCH_MS);
    }
  }

  /** Hands all open batches to the outbox. */
  flush(): void {
    for (const batches of [this.#small, this.#large]) {
      for (const batch of [...batches.values()]) batch.flush();
    }
  }

  #add(batches: Map<string, OpenBatch>, subject: string, result: CheckResult, withinMs: number): void {
    const text = JSON.stringify(result);
    const bytes = Buffer.byteLength(text) + 1;
    let batch = batches.get(subject);
    if (batch !== undefined && batch.bytes + bytes > LIMITS.messageBytes - ENVELOPE_BYTES) {
      batch.flush();
      batch = undefined;
    }
    if (batch === undefined) {
      batch = newBatch(() => this.#flush(batches, subject));
      batches.set(subject, batch);
    }
    batch.texts.push(text);
    batch.bytes += bytes;
    // A job that was not run may be offered again, also to this agent.
    batch.jobs.push({ key: [result.monitor, result.slot], isFinal: result.outcome !== 'not_run' });
    const most = batches === this.#small ? LIMITS.smallResultsPerMessage : LIMITS.resultsPerMessage;
    if (batch.texts.length >= most) batch.flush();
    else this.#flushWithin(withinMs, batch);
  }

  /** Makes the batch end within `ms`, when it would otherwise end later. */
  #flushWithin(ms: number, batch: OpenBatch): void {
    const { clock } = this.#parts;
    const flushAt = clock.monotonic() + ms;
    if (batch.flushAt <= flushAt) return;
    batch.cancelFlush();
    batch.flushAt = flushAt;
    batch.cancelFlush = clock.after(ms, batch.flush);
  }

  #flush(batches: Map<string, OpenBatch>, subject: string): void {
    const batch = batches.get(subject);
    if (batch === undefined) return;
    batches.delete(subject);
    batch.cancelFlush();
    this.#parts.outbox.add({
      subject,
      text: `${this.#head}${batch.texts.join(',')}]}`,
      bytes: batch.bytes + this.#head.length + 2,
      results: batch.jobs.length,
      onSettled: (how) => this.#release(batch.jobs, how),
    });
  }

  #release(jobs: OpenBatch['jobs'], how: 'kept' | 'dropped'): void {
    for (const { key, isFinal } of jobs) {
      this.#parts.held.release(key[0], key[1], how === 'kept' && isFinal ? 'finished' : 'forgotten');
      if (how === 'dropped') this.#lastOutcomes.forget(key[0]);
    }
  }
}

/** Rewrites the result for a coordinator of version 0.1. */
function forFirstVersion(result: CheckResult): CheckResult {
  return result.reason === undefined ? result : { ...result, reason: asFirstReason(result.reason) };
}

function newBatch(flush: () => void): OpenBatch {
  return { texts: [], jobs: [], bytes: 0, flushAt: Number.POSITIVE_INFINITY, cancelFlush: () => {}, flush };
}
