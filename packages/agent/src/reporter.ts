import type { Clock } from '@svc/shared/clock.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { JobKey } from '@svc/shared/messages/heartbeat.ts';
import { MESSAGE_VERSION } from '@svc/shared/messages/subjects.ts';
import type { HeldJobs } from './held-jobs.ts';
import type { Outbox } from './outbox.ts';

/** Longest time a result waits for others to share its message. */
const BATCH_MS = 50;
/** Room for the envelope around the results. */
const ENVELOPE_BYTES = 512;

export type ReporterOptions = {
  agentId: string;
  outbox: Pick<Outbox, 'add'>;
  held: HeldJobs;
  clock: Clock;
};

/** Collects results into messages of up to 64, 256 KiB or 50 ms; a job stays held until the stream has its result. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #head: string;
  #texts: string[] = [];
  #jobs: { key: JobKey; isFinal: boolean }[] = [];
  #bytes = 0;
  #cancelFlush: () => void = () => {};

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#head = `{"v":${MESSAGE_VERSION},"agent":${JSON.stringify(options.agentId)},"results":[`;
  }

  report(result: CheckResult): void {
    const text = JSON.stringify(result);
    const bytes = Buffer.byteLength(text) + 1;
    if (this.#bytes + bytes > LIMITS.messageBytes - ENVELOPE_BYTES) this.flush();
    if (this.#texts.length === 0) {
      this.#cancelFlush = this.#options.clock.after(BATCH_MS, () => this.flush());
    }
    this.#texts.push(text);
    this.#bytes += bytes;
    // What was not run may be offered again, to this agent too.
    this.#jobs.push({ key: [result.monitor, result.slot], isFinal: result.outcome !== 'not_run' });
    if (this.#texts.length >= LIMITS.smallResultsPerMessage) this.flush();
  }

  /** Hands what was collected to the outbox. */
  flush(): void {
    this.#cancelFlush();
    if (this.#texts.length === 0) return;
    const jobs = this.#jobs;
    const text = `${this.#head}${this.#texts.join(',')}]}`;
    const bytes = this.#bytes + this.#head.length + 2;
    this.#texts = [];
    this.#jobs = [];
    this.#bytes = 0;
    this.#options.outbox.add({
      text,
      bytes,
      results: jobs.length,
      onSettled: (how) => {
        for (const { key, isFinal } of jobs) {
          this.#options.held.release(key[0], key[1], how === 'kept' && isFinal ? 'finished' : 'forgotten');
        }
      },
    });
  }
}
