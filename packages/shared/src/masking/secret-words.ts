/** Shorter words are not masked: replacing them would garble the text and hide nothing. */
export const SHORTEST_WORD = 8;
/** Number of characters that decide about a bucket. */
const BEGINNING = 4;
const BUCKETS = 1 << 15;
const SPACE = 0x20;

/** From `start` to `end` of a text; `next` is another one of the same bucket. */
type Word = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly next: Word | null;
};

/**
 * The words of long texts, found by their beginnings. Of a word only its place in the text is kept, because
 * texts have thousands of words, and hardly any is asked for.
 */
export class Words {
  readonly #buckets = new Map<number, Word>();

  /** @param text has no white space but single spaces */
  add(text: string): void {
    for (let start = 0; start < text.length; ) {
      const space = text.indexOf(' ', start);
      const end = space === -1 ? text.length : space;
      if (end - start >= SHORTEST_WORD) {
        const bucket = bucketOf(text, start);
        this.#buckets.set(bucket, { text, start, end, next: this.#buckets.get(bucket) ?? null });
      }
      start = end + 1;
    }
  }

  /** The words that may begin at this place of the line, as a list; null: none. */
  mayBegin(line: string, at: number): Word | null {
    return this.#buckets.get(bucketOf(line, at)) ?? null;
  }
}

function bucketOf(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + BEGINNING; index += 1) {
    const code = index < text.length ? text.charCodeAt(index) : SPACE;
    hash = (hash * 31 + code) % BUCKETS;
  }
  return hash;
}
