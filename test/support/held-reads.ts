import { storeInProcess } from '@svc/coordinator/store/sqlite/store-in-process.ts';
import type { StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import type { Numbered, ServedPort } from '@svc/coordinator/store/sqlite/thread-protocol.ts';
import { systemClock } from '@svc/shared/clock.ts';

/** SQLITE_IOERR. */
const IO_ERROR = { message: 'disk I/O error', errcode: 10 };

/** Makes reads of a store in this process wait, as for a lock of another program, or fail. */
export class HeldReads {
  readonly workers: StoreWorkers = storeInProcess(systemClock, (port) => this.#before(port));
  #mode: 'answer' | 'hold' | 'fail' = 'answer';
  /** Number of threads that have started. */
  #threads = 0;
  /** Number of threads, from the first on, that hold reads. */
  #holding = 0;
  #held: (() => void)[] = [];
  /** Number of reads that were requested. */
  count = 0;
  /** Called when a read is held. */
  onHeld: () => void = () => {};

  /** Makes reads wait until {@link release}. */
  hold(): void {
    this.#mode = 'hold';
    this.#holding = Number.POSITIVE_INFINITY;
  }

  /** Makes the reads of the thread that started first wait until {@link release}. */
  holdFirst(): void {
    this.#mode = 'hold';
    this.#holding = 1;
  }

  /** Makes reads fail at once until {@link release}. */
  fail(): void {
    this.#mode = 'fail';
  }

  /** Answers reads again, the waiting reads first. */
  release(): void {
    this.#mode = 'answer';
    const held = this.#held;
    this.#held = [];
    for (const answer of held) answer();
  }

  #before(port: ServedPort): ServedPort {
    const thread = this.#threads;
    this.#threads += 1;
    return {
      postMessage: (message) => port.postMessage(message),
      on: (event, listener) =>
        port.on(event, (message: Numbered<unknown>) => {
          this.count += 1;
          if (this.#mode === 'fail') port.postMessage({ id: message.id, ok: false, failure: IO_ERROR });
          else if (this.#mode === 'answer' || thread >= this.#holding) listener(message as never);
          else {
            this.#held.push(() => listener(message as never));
            this.onHeld();
          }
        }),
    };
  }
}
