import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { SvcError } from '@svc/shared/errors.ts';
import type { DatabaseUrl } from '../../store/database-url.ts';
import type { LiveMonitor } from '../../verdict/monitor.ts';
import type { Comparison, WhatIf } from './compare.ts';

/** Data for the thread of a replay, without the members of the monitor that are secrets. */
export type WhatIfRequest = Omit<WhatIf, 'present'> & {
  /** A `DatabaseUrl` in clear, because a `Secret` cannot be passed to a thread. */
  readonly database: string;
  readonly present: Omit<LiveMonitor, 'checkText' | 'declaredExport'>;
};

/** Maximum duration of a replay, ms. The largest replay takes about ten seconds of CPU. */
const LONGEST_MS = 60_000;
/** Maximum number of concurrent replays. Each replay uses one CPU. */
const AT_ONCE = 2;
const MAX_HEAP_MIB = 512;

/** A replay failed, was ended, or was refused because too many replays run. */
class WhatIfFailure extends SvcError {
  readonly retryable = true;

  constructor(message: string, options?: ErrorOptions) {
    super('what-if-failed', message, options);
  }
}

/** Runs replays, each on its own thread. */
export class WhatIfs {
  readonly #database: DatabaseUrl;
  readonly #running = new Set<Worker>();

  constructor(database: DatabaseUrl) {
    this.#database = database;
  }

  /**
   * Replays a monitor with other settings, and compares the outcome with what happened. Resolves to null if
   * no results are stored for the requested time, or too few for a comparison.
   *
   * @param signal ends the replay, because its caller has gone away
   * @throws SvcError `what-if-failed`: the replay failed, was ended or took too long, or too many replays run
   */
  async compare({ present, ...asked }: WhatIf, signal: AbortSignal): Promise<Comparison | null> {
    if (this.#running.size >= AT_ONCE) {
      throw new WhatIfFailure(`${AT_ONCE} replays are running, and no more can run at once`);
    }
    const { checkText: _, declaredExport: __, ...monitor } = present;
    // A heap limit on the command line is meant for the main thread only, which has applied the limit
    // already.
    setFlagsFromString('--max-old-space-size=0');
    const worker = new Worker(new URL('./what-if-worker.ts', import.meta.url), {
      name: 'what-if',
      workerData: { ...asked, present: monitor, database: this.#database.reveal() } satisfies WhatIfRequest,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    this.#running.add(worker);
    try {
      return await answerOf(worker, signal);
    } finally {
      this.#running.delete(worker);
      await worker.terminate();
    }
  }

  /** Ends all replays. Their callers get an error. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((worker) => worker.terminate()));
  }
}

function answerOf(worker: Worker, signal: AbortSignal): Promise<Comparison | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Comparison | null>();
  const failed = (message: string, options?: ErrorOptions) => reject(new WhatIfFailure(message, options));
  const tooLong = `the replay took longer than ${LONGEST_MS / 1_000} s`;
  const timer = setTimeout(() => failed(tooLong), LONGEST_MS);
  const abandon = () => failed('the caller of the replay has gone away');
  signal.addEventListener('abort', abandon);
  if (signal.aborted) abandon();
  worker.once('message', resolve);
  worker.once('error', (cause) => failed('the replay failed', { cause }));
  worker.once('exit', () => failed('the replay was ended'));
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abandon);
  });
}
