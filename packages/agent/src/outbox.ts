import type { Bus, BusMessage, BusSubscription } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { z } from 'zod';
import type { Metrics } from './metrics.ts';
import { ThrottledLog } from './throttled-log.ts';

/** Wait for an acknowledgement before the first repetition; doubles each time. */
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;
/** How often it is looked for batches whose wait is over. */
const SWEEP_MS = 500;
/** Everything not acknowledged, in bytes of text. Some 100,000 results, of which an agent may hold 16,000. */
const DEFAULT_MOST_BYTES = 32 * 1_024 * 1_024;

/** JetStream error code "message size exceeds maximum allowed": the same message is refused for ever. */
const MESSAGE_TOO_LARGE = 10054;

const pubAck = z.union([
  z.object({
    error: z.object({
      code: z.number(),
      err_code: z.number().optional(),
      description: z.string().optional(),
    }),
  }),
  z.object({ stream: z.string(), seq: z.number().int() }),
]);

export type OutboxOptions = {
  bus: Bus;
  /** Unique for each life of the agent: with a counter behind it, it makes the message ids. */
  bootId: string;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
  mostBytes?: number;
};

/** One message of results. */
export type Batch = {
  subject: string;
  text: string;
  /** Length of `text`, UTF-8. */
  bytes: number;
  results: number;
  /** Called once: the stream has it (`kept`), or it was given up (`dropped`). */
  onSettled: (how: 'kept' | 'dropped') => void;
};

type Entry = Batch & { id: string; isSent: boolean; waitMs: number; resendAt: number };

/**
 * Keeps batches until the stream has acknowledged them, and sends them again until then: after growing
 * waits and at once after a reconnect, always under the same message id, so that the stream drops
 * what it has already.
 *
 * Bounded: when it is full the oldest batch goes, because the newest say what is true now.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #warnings: ThrottledLog;
  readonly #inbox: string;
  readonly #mostBytes: number;
  /** By number, oldest first. */
  readonly #entries = new Map<number, Entry>();
  #bytes = 0;
  #count = 0;
  #subscription: BusSubscription | null = null;
  #stopSweep: () => void = () => {};
  #stopListening: () => void = () => {};
  #onEmpty: () => void = () => {};

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#warnings = new ThrottledLog(options.log, options.clock);
    this.#inbox = options.bus.inbox();
    this.#mostBytes = options.mostBytes ?? DEFAULT_MOST_BYTES;
  }

  /** Batches not acknowledged. */
  get size(): number {
    return this.#entries.size;
  }

  start(): void {
    const { bus, clock } = this.#options;
    this.#subscription = bus.subscribe(`${this.#inbox}.*`, (message) => this.#onAnswer(message));
    this.#stopSweep = clock.every(SWEEP_MS, () => this.#sweep());
    this.#stopListening = bus.onConnection((isConnected) => {
      if (isConnected) this.#sendAll();
    });
  }

  add(batch: Batch): void {
    const number = ++this.#count;
    const entry: Entry = {
      ...batch,
      id: `${this.#options.bootId}-${number}`,
      isSent: false,
      waitMs: FIRST_WAIT_MS,
      resendAt: Number.POSITIVE_INFINITY,
    };
    this.#entries.set(number, entry);
    this.#bytes += entry.bytes;
    this.#makeRoom(number);
    this.#send(number, entry);
  }

  /** Waits until everything is acknowledged, at most `ms`, then stops sending. What is left is counted and logged. */
  async stop(ms: number): Promise<void> {
    if (this.#entries.size > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.clock.after(ms, resolve);
        this.#onEmpty = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#stopSweep();
    this.#stopListening();
    this.#subscription?.close();
    if (this.#entries.size === 0) return;
    this.#options.log.error(
      { batches: this.#entries.size },
      'ended before the stream acknowledged all results',
    );
    for (const number of [...this.#entries.keys()]) this.#settle(number, 'dropped');
  }

  #send(number: number, entry: Entry): void {
    const { bus, clock, metrics } = this.#options;
    // Sent at the reconnect.
    if (!bus.isConnected) return;
    try {
      bus.publish(entry.subject, entry.text, { reply: `${this.#inbox}.${number}`, messageId: entry.id });
      metrics.batchesSent++;
      if (entry.isSent) metrics.batchesResent++;
      entry.isSent = true;
    } catch (error) {
      this.#warnings.warn('could not send results; they stay in the outbox', { error: messageOf(error) });
    }
    entry.resendAt = clock.monotonic() + entry.waitMs;
    entry.waitMs = Math.min(LONGEST_WAIT_MS, 2 * entry.waitMs);
  }

  #sendAll(): void {
    for (const [number, entry] of this.#entries) {
      entry.waitMs = FIRST_WAIT_MS;
      this.#send(number, entry);
    }
  }

  #sweep(): void {
    if (!this.#options.bus.isConnected) return;
    const now = this.#options.clock.monotonic();
    for (const [number, entry] of this.#entries) {
      if (entry.resendAt <= now) this.#send(number, entry);
    }
  }

  #onAnswer(message: BusMessage): void {
    const number = Number(message.subject.slice(message.subject.lastIndexOf('.') + 1));
    // Answers to earlier repetitions find nothing here any more.
    if (!this.#entries.has(number)) return;
    const problem = problemOf(message);
    if (problem === null) {
      this.#options.metrics.batchesAcknowledged++;
      this.#settle(number, 'kept');
      return;
    }
    this.#options.metrics.batchesRefused++;
    this.#warnings.warn('the stream did not keep results', { problem: problem.text });
    if (problem.isFinal) this.#settle(number, 'dropped');
  }

  #makeRoom(newest: number): void {
    for (const number of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes || number === newest) return;
      this.#warnings.warn('the outbox is full; the oldest results are dropped', { bytes: this.#bytes });
      this.#settle(number, 'dropped');
    }
  }

  #settle(number: number, how: 'kept' | 'dropped'): void {
    const entry = this.#entries.get(number);
    if (entry === undefined) return;
    this.#entries.delete(number);
    this.#bytes -= entry.bytes;
    if (how === 'dropped') this.#options.metrics.resultsDropped += entry.results;
    entry.onSettled(how);
    if (this.#entries.size === 0) this.#onEmpty();
  }
}

/** What is wrong with an answer, null when it is an acknowledgement. All but final problems are tried again. */
function problemOf(message: BusMessage): { text: string; isFinal: boolean } | null {
  if (message.isNoResponders) return { text: 'there is no stream yet', isFinal: false };
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(message.data));
  } catch {
    return { text: 'the answer is no JSON', isFinal: false };
  }
  const answer = pubAck.safeParse(value);
  if (!answer.success) return { text: 'the answer is no acknowledgement', isFinal: false };
  if (!('error' in answer.data)) return null;
  const { code, err_code, description } = answer.data.error;
  return { text: description ?? `error ${err_code ?? code}`, isFinal: err_code === MESSAGE_TOO_LARGE };
}
