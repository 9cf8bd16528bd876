import type { ExportNote } from '../store/export-totals.ts';
import { withRoom } from './columns.ts';

const FIRST_ROOM = 16 * 1_024;
/** Of a note: its id (double) and its length (four bytes), in the order of little endian. */
const HEAD_BYTES = 12;

/**
 * Notes that go to another thread together, as bytes one after the other. A message costs more than its contents, and
 * waiting objects cost time of the garbage collector.
 */
export class NoteBatch {
  #buffer = new Uint8Array(FIRST_ROOM);
  #length = 0;
  /** Of the last note. */
  last = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  add({ id, bytes }: ExportNote): void {
    const end = this.#length + HEAD_BYTES + bytes.length;
    this.#buffer = withRoom(this.#buffer, end);
    const view = new DataView(this.#buffer.buffer);
    view.setFloat64(this.#length, id, true);
    view.setUint32(this.#length + 8, bytes.length, true);
    this.#buffer.set(bytes, this.#length + HEAD_BYTES);
    this.#length = end;
    this.last = id;
  }

  /** All notes since the last time, in memory of their own. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#buffer.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }
}

/** Calls `each` with every note of a batch, in its order; the bytes are a view on those of the batch. */
export function readBatch(batch: Uint8Array, each: (id: number, bytes: Uint8Array) => void): void {
  const view = new DataView(batch.buffer, batch.byteOffset, batch.byteLength);
  for (let at = 0; at < batch.length; ) {
    const length = view.getUint32(at + 8, true);
    const start = at + HEAD_BYTES;
    each(view.getFloat64(at, true), batch.subarray(start, start + length));
    at = start + length;
  }
}
