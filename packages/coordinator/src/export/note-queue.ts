import type { Clock } from '@svc/shared/clock.ts';
import type { ExportNote } from '../store/export-totals.ts';
import { NoteBatch } from './note-batch.ts';

/** Notes are handed over together, so late: a message costs more than what is in it, ms. */
const SEND_AFTER_MS = 1_000;
/** Notes that were handed over and not read, in bytes. */
const MOST_UNREAD = 64 * 1_024 * 1_024;

type Parts = {
  readonly clock: Clock;
  /** @param batch as `readBatch` reads it */
  readonly send: (batch: Uint8Array) => void;
  /** The thread has too much that it did not read. */
  readonly onOverflow: () => void;
};

/** The way of committed notes to the thread of the export. */
export class NoteQueue {
  readonly #parts: Parts;
  readonly #unsent = new NoteBatch();
  /** Batches that were sent and not read yet: their last note, and their bytes. */
  #unread: { last: number; bytes: number }[] = [];
  #unreadBytes = 0;
  #cancelSending: () => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  add(note: ExportNote): void {
    if (this.#unsent.isEmpty) this.#cancelSending = this.#parts.clock.after(SEND_AFTER_MS, () => this.send());
    this.#unsent.add(note);
  }

  /** Sends what waits, now: before anything that must come after it. */
  send(): void {
    this.#cancelSending();
    if (this.#unsent.isEmpty) return;
    const batch = this.#unsent.take();
    this.#unread.push({ last: this.#unsent.last, bytes: batch.length });
    this.#unreadBytes += batch.length;
    this.#parts.send(batch);
    if (this.#unreadBytes > MOST_UNREAD) this.#parts.onOverflow();
  }

  /** The thread has read the notes up to this one. */
  read(noted: number): void {
    const first = this.#unread.findIndex(({ last }) => last > noted);
    for (const { bytes } of this.#unread.splice(0, first === -1 ? this.#unread.length : first)) {
      this.#unreadBytes -= bytes;
    }
  }

  /** Forgets everything: another thread reads what is committed from the database. */
  clear(): void {
    this.#cancelSending();
    this.#unsent.take();
    this.#unread = [];
    this.#unreadBytes = 0;
  }
}
