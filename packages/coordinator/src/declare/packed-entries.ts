import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DeclaredEntry, Entries } from './declaration.ts';

/** Bounds of a piece, so that the thread that opens it is held for 2 ms at most. One entry may be larger by itself. */
const MOST_ENTRIES = 100;
const MOST_LENGTH = 262_144;

/** Consecutive entries as compressed JSON, in which they also go between threads. */
export type Piece = { readonly entries: number; readonly bytes: Uint8Array<ArrayBuffer> };

export function packed(entries: readonly DeclaredEntry[]): Piece[] {
  const pieces: Piece[] = [];
  let texts: string[] = [];
  let length = 0;
  for (const entry of entries) {
    const text = JSON.stringify(entry);
    if (texts.length === MOST_ENTRIES || (texts.length > 0 && length + text.length > MOST_LENGTH)) {
      pieces.push(pieceOf(texts));
      [texts, length] = [[], 0];
    }
    texts.push(text);
    length += text.length;
  }
  if (texts.length > 0) pieces.push(pieceOf(texts));
  return pieces;
}

function pieceOf(texts: readonly string[]): Piece {
  const compressed = deflateRawSync(`[${texts.join()}]`, { level: 1 });
  // A copy: what zlib returns lies in a larger buffer.
  return { entries: texts.length, bytes: new Uint8Array(compressed) };
}

/**
 * The entries of a declaration in compressed pieces outside of V8's heap. As objects, a hundred thousand monitors take
 * 66 MiB while they are compared and written. Here they are objects a piece at a time.
 */
export class PackedEntries implements Entries {
  readonly length: number;
  readonly #pieces: readonly Piece[];
  /** Position of each piece's first entry. */
  readonly #starts: readonly number[];
  /** The piece that was opened last, because entries are asked for one after the other. */
  #opened: { readonly start: number; readonly entries: readonly DeclaredEntry[] } = { start: 0, entries: [] };

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
    let length = 0;
    this.#starts = pieces.map(({ entries }) => {
      length += entries;
      return length - entries;
    });
    this.length = length;
  }

  at(position: number): DeclaredEntry | undefined {
    const { start, entries } = this.#opened;
    if (position < start || position >= start + entries.length) this.#open(position);
    return this.#opened.entries[position - this.#opened.start];
  }

  #open(position: number): void {
    const number = this.#starts.findLastIndex((start) => start <= position);
    const piece = this.#pieces[number];
    if (piece !== undefined) this.#opened = { start: this.#starts[number] ?? 0, entries: unpacked(piece) };
  }
}

function unpacked({ bytes }: Piece): readonly DeclaredEntry[] {
  const json = inflateRawSync(bytes, { chunkSize: MOST_LENGTH });
  const entries = JSON.parse(json.toString()) as readonly DeclaredEntry[];
  // Its memory goes at once. A collection frees it later, and does not see how much of it waits.
  json.buffer.transfer(0);
  return entries;
}
