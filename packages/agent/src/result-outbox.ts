import { randomUUID } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Bus, BusMessage, BusSubscription } from '@svc/shared/nats/bus.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import { z } from 'zod';
import type { Metrics } from './metrics.ts';

/**
 * Time after which an unacknowledged batch is overdue and is sent again, ms. It is constant, because a wait
 * that grows while the servers of a cluster choose a leader delays the results after the election.
 * {@link MOST_SENT_BYTES} bounds what the repetitions cost.
 */
const REPEAT_MS = 1_000;
/** Interval between two searches for overdue batches, ms. */
const SWEEP_MS = 500;
/**
 * Bound on the text of the batches that are sent and not acknowledged, bytes; one batch is always sent. So a
 * backlog never fills the connection: heartbeats and answers to pings wait behind 1 MiB at most. With a
 * round trip of 200 ms, 5 MiB/s are sent, which are some 15,000 results/s.
 */
const MOST_SENT_BYTES = 1_024 * 1_024;
/**
 * Bound on the text of all unacknowledged batches, bytes. It is enough
 * for some 100,000 results; an agent holds at most 16,000 jobs.
 */
const DEFAULT_MOST_BYTES = 32 * 1_024 * 1_024;

/**
 * JetStream's error code "message size exceeds maximum allowed". The stream would refuse a repetition too.
 */
const MESSAGE_TOO_LARGE = 10054;

const pubAck = z.union([
  z.object({
    error: z.object({
      code: z.number(),
      err_code: z.number().optional(),
      description: z.string().optional(),
    }),
  }),
  z.object({ stream: z.string(), seq: z.number().int(), duplicate: z.boolean().optional() }),
]);

export type OutboxParts = {
  bus: Bus;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
  mostBytes?: number;
};

/** One message of results. */
export type Batch = {
  subject: string;
  text: string;
  /** Size of `text` in UTF-8, bytes. */
  bytes: number;
  results: number;
  /** Called once. `kept`: the stream has the batch. `dropped`: the batch was given up. */
  onSettled: (how: 'kept' | 'dropped') => void;
};

type Entry = Batch & {
  /**
   * Random message id. If another client could guess the id,
   * it could make the stream treat this batch as a repetition.
   */
  id: string;
  /** When the batch was added, monotonic ms. */
  readonly addedAt: number;
  /** Number of times that the batch was sent under this id. */
  sends: number;
  /**
   * When the batch was last sent over the present connection, or could not be
   * sent, monotonic ms; null: it waits for its first send over this connection.
   */
  sentAt: number | null;
};

/**
 * Keeps batches and sends them again until the stream has acknowledged them or they are dropped.
 *
 *             ┌──── connection lost ────┐
 *             ▼                         │
 *     waits to be sent ── room ──▶ sent, unanswered ── acknowledged ──▶ kept
 *                                   ▲          │
 *                                   └── 1 s ───┘
 *
 * Batches are sent in their order, as far as {@link MOST_SENT_BYTES} allows. A batch keeps its message id, so
 * that the stream drops repetitions. If the stream drops a batch as a repetition although it was sent only
 * once, another client has used the id, and the stream does not have the batch. The batch is then sent again
 * under another id, and the agent logs a warning and counts the batch as disowned.
 *
 * The memory is bounded: a full outbox drops the oldest batch, because the newest results
 * show the present state. A batch that the stream refuses for its size is dropped too.
 */
export class ResultOutbox {
  readonly #parts: OutboxParts;
  readonly #warnings: ThrottledLog;
  readonly #inbox: string;
  readonly #mostBytes: number;
  /** Unacknowledged batches by number, the oldest first. */
  readonly #entries = new Map<number, Entry>();
  #bytes = 0;
  /** Total size of the batches that are sent and not acknowledged, bytes. */
  #sentBytes = 0;
  #isRepeating = false;
  #count = 0;
  #subscription: BusSubscription | null = null;
  #stopSweep: () => void = () => {};
  #stopListening: () => void = () => {};
  #onEmpty: () => void = () => {};

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#warnings = new ThrottledLog(parts.log, parts.clock);
    this.#inbox = parts.bus.inbox();
    this.#mostBytes = parts.mostBytes ?? DEFAULT_MOST_BYTES;
  }

  /** Number of unacknowledged batches. */
  get size(): number {
    return this.#entries.size;
  }

  /** Age of the oldest unacknowledged batch, ms; 0 when there is none. */
  get ageMs(): number {
    const [oldest] = this.#entries.values();
    return oldest === undefined ? 0 : this.#parts.clock.monotonic() - oldest.addedAt;
  }

  start(): void {
    const { bus, clock } = this.#parts;
    this.#subscription = bus.subscribe(`${this.#inbox}.*`, (message) => this.#onAnswer(message));
    this.#stopSweep = clock.every(SWEEP_MS, () => void this.#repeatOverdue());
    this.#stopListening = bus.onConnection((isConnected) => {
      if (isConnected) this.#sendWaiting();
      else for (const entry of this.#entries.values()) this.#takeBack(entry);
    });
  }

  addBatch(batch: Batch): void {
    const number = ++this.#count;
    const entry: Entry = {
      ...batch,
      id: randomUUID(),
      addedAt: this.#parts.clock.monotonic(),
      sends: 0,
      sentAt: null,
    };
    this.#entries.set(number, entry);
    this.#bytes += entry.bytes;
    this.#makeRoom(number);
    this.#sendWaiting();
  }

  /**
   * Waits until all batches are acknowledged, at most `ms`, and then
   * stops sending. Remaining batches are dropped, counted and logged.
   */
  async stop(ms: number): Promise<void> {
    if (this.#entries.size > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#parts.clock.after(ms, resolve);
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
    this.#parts.log.error(
      { batches: this.#entries.size },
      'the agent ended before the stream had acknowledged all results; the rest is lost',
    );
    for (const number of [...this.#entries.keys()]) this.#settleMessage(number, 'dropped');
  }

  /**
   * Sends the batches that wait, the oldest first, while
   * there is room. Without a connection, nothing is sent.
   */
  #sendWaiting(): void {
    if (!this.#parts.bus.isConnected) return;
    for (const [number, entry] of this.#entries) {
      if (entry.sentAt !== null) continue;
      if (this.#sentBytes > 0 && this.#sentBytes + entry.bytes > MOST_SENT_BYTES) return;
      this.#sentBytes += entry.bytes;
      this.#send(number, entry);
    }
  }

  #send(number: number, entry: Entry): void {
    const { bus, clock, metrics } = this.#parts;
    try {
      bus.publish(entry.subject, entry.text, { reply: `${this.#inbox}.${number}`, messageId: entry.id });
      metrics.batchesSent += 1;
      if (entry.sends > 0) metrics.batchesResent += 1;
      entry.sends += 1;
    } catch (error) {
      this.#warnings.warn('cannot send results now; they stay in the outbox', { error: messageOf(error) });
    }
    entry.sentAt = clock.monotonic();
  }

  /** Notes that the batch is no longer on its way, because it waits to be sent again or is settled. */
  #takeBack(entry: Entry): void {
    if (entry.sentAt !== null) this.#sentBytes -= entry.bytes;
    entry.sentAt = null;
  }

  /**
   * Sends overdue batches again, after the server has read what was sent before. On a slow connection, the
   * first copies may still be in this process, and repetitions would only make it slower.
   */
  async #repeatOverdue(): Promise<void> {
    const { bus, clock } = this.#parts;
    const sentBy = clock.monotonic() - REPEAT_MS;
    const overdue = [...this.#entries].filter(([, { sentAt }]) => sentAt !== null && sentAt <= sentBy);
    if (overdue.length === 0 || this.#isRepeating) return;
    this.#isRepeating = true;
    try {
      await bus.flush();
      for (const [number, entry] of overdue) {
        if (this.#entries.has(number) && entry.sentAt !== null && entry.sentAt <= sentBy)
          this.#send(number, entry);
      }
    } catch {
      // The connection was lost: all batches are sent again after the reconnect.
    }
    this.#isRepeating = false;
  }

  #onAnswer(message: BusMessage): void {
    const number = Number(message.subject.slice(message.subject.lastIndexOf('.') + 1));
    // The answer to an earlier send may come when the batch is no longer kept. The answer is then ignored.
    const entry = this.#entries.get(number);
    if (entry === undefined) return;
    const answer = answerIn(message);
    if (answer.is === 'refused') {
      this.#parts.metrics.batchesRefused += 1;
      this.#warnings.warn('the stream refused results', { problem: answer.why });
      if (answer.isFinal) this.#settleMessage(number, 'dropped');
    } else if (answer.is === 'repeated' && entry.sends === 1) {
      this.#idWasTaken(number, entry);
    } else {
      this.#parts.metrics.batchesAcknowledged += 1;
      this.#settleMessage(number, 'kept');
    }
    this.#sendWaiting();
  }

  #idWasTaken(number: number, entry: Entry): void {
    this.#parts.metrics.batchesDisowned += 1;
    this.#warnings.warn(
      "the stream has another message under the id of a new batch: another client tampers with the region's stream",
      {
        subject: entry.subject,
      },
    );
    entry.id = randomUUID();
    entry.sends = 0;
    this.#send(number, entry);
  }

  #makeRoom(newest: number): void {
    for (const number of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes || number === newest) return;
      this.#warnings.warn('the outbox is full: the oldest results are dropped', { bytes: this.#bytes });
      this.#settleMessage(number, 'dropped');
    }
  }

  #settleMessage(number: number, how: 'kept' | 'dropped'): void {
    const entry = this.#entries.get(number);
    if (entry === undefined) return;
    this.#entries.delete(number);
    this.#bytes -= entry.bytes;
    this.#takeBack(entry);
    if (how === 'dropped') this.#parts.metrics.resultsDropped += entry.results;
    entry.onSettled(how);
    if (this.#entries.size === 0) this.#onEmpty();
  }
}

type Answer =
  /** `repeated`: the stream reports that it already had a message with the batch's id. */
  | { is: 'kept' | 'repeated' }
  /** The stream refused the batch. If `isFinal`, the batch is dropped; otherwise it is sent again. */
  | { is: 'refused'; why: string; isFinal: boolean };

function answerIn(message: BusMessage): Answer {
  if (message.isNoResponders) return refused('the stream does not exist yet');
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(message.data));
  } catch {
    return refused('the answer is not JSON');
  }
  const answer = pubAck.safeParse(value);
  if (!answer.success) return refused('the answer is not an acknowledgement');
  if (!('error' in answer.data)) return { is: answer.data.duplicate === true ? 'repeated' : 'kept' };
  const { code, err_code, description } = answer.data.error;
  return refused(description ?? `error ${err_code ?? code}`, err_code === MESSAGE_TOO_LARGE);
}

function refused(why: string, isFinal = false): Answer {
  return { is: 'refused', why, isFinal };
}
