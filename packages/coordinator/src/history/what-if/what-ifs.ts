import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { SvcError } from '@svc/shared/errors.ts';
import type { LiveMonitor } from '../../verdict/monitor.ts';
import type { Comparison, WhatIf } from './compare.ts';

/** What the thread of a replay is started with. It gets no secret. */
export type WhatIfRequest = Omit<WhatIf, 'present'> & {
  /** Path of the database file. */
  readonly path: string;
  readonly present: Omit<LiveMonitor, 'checkText' | 'declaredExport'>;
};

/** A replay that takes longer than this is ended, ms: the largest takes some ten seconds of a CPU. */
const LONGEST_MS = 60_000;
/** Most replays at once: each uses a CPU. */
const AT_ONCE = 2;
const MAX_HEAP_MIB = 512;

/** A replay could not be made. */
class WhatIfFailure extends SvcError {
  readonly retryable = true;

  constructor(message: string, options?: ErrorOptions) {
    super('what-if-failed', message, options);
  }
}

/** Runs replays, each on a thread of its own: the main thread waits for none of their work. */
export class WhatIfs {
  readonly #path: string;
  readonly #running = new Set<Worker>();

  /** @param path of the database file */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Replays a monitor with other settings and compares with what happened; null: nothing is stored yet.
   *
   * @param signal ends the replay: nobody waits for it any more
   * @throws SvcError `what-if-failed`
   */
  async compare({ present, ...asked }: WhatIf, signal: AbortSignal): Promise<Comparison | null> {
    if (this.#running.size >= AT_ONCE) {
      throw new WhatIfFailure(`${AT_ONCE} replays are running, the most at once`);
    }
    const { checkText: _, declaredExport: __, ...monitor } = present;
    // A limit on the command line is for the main thread, which has applied it by now.
    setFlagsFromString('--max-old-space-size=0');
    const worker = new Worker(new URL('./what-if-worker.ts', import.meta.url), {
      name: 'what-if',
      workerData: { ...asked, present: monitor, path: this.#path } satisfies WhatIfRequest,
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

  /** Ends all replays; their callers get an error. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((worker) => worker.terminate()));
  }
}

function answerOf(worker: Worker, signal: AbortSignal): Promise<Comparison | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Comparison | null>();
  const failed = (message: string, options?: ErrorOptions) => reject(new WhatIfFailure(message, options));
  const tooLong = `the replay took longer than ${LONGEST_MS / 1_000} s`;
  const timer = setTimeout(() => failed(tooLong), LONGEST_MS);
  const abandoned = () => failed('nobody waits for the replay any more');
  signal.addEventListener('abort', abandoned);
  if (signal.aborted) abandoned();
  worker.once('message', resolve);
  worker.once('error', (cause) => failed('the replay failed', { cause }));
  worker.once('exit', () => failed('the replay was ended'));
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abandoned);
  });
}
