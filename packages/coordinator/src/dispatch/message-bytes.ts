/** Numbers are written in two halves, because integers of 31 bits are divided several times as fast as larger ones. */
const HALF = 1_000_000_000;
const DIGIT_0 = 0x30;
/** UTF-8 takes three bytes at most for each unit of a string. */
const BYTES_PER_UNIT = 3;

/**
 * The bytes of a message that is put together from many pieces, in memory that the next message uses again. A
 * string of the same text costs an object for every piece, and is copied twice before it is sent.
 */
export class MessageBytes {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity of the memory at first, bytes; it grows when a message is longer */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** Removes everything after the first `length` bytes. */
  cut(length: number): void {
    this.#length = length;
  }

  /** Appends a short text of ASCII characters. */
  ascii(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let index = 0; index < text.length; index += 1) {
      bytes[at] = text.charCodeAt(index);
      at += 1;
    }
    this.#length = at;
  }

  /** Appends any text. */
  text(text: string): void {
    this.#reserve(text.length * BYTES_PER_UNIT);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** Appends the decimal digits of an integer from 0 to `Number.MAX_SAFE_INTEGER`. */
  count(value: number): void {
    const low = value % HALF;
    const high = (value - low) / HALF;
    if (high > 0) this.#digits(high, 1);
    this.#digits(low, high > 0 ? 9 : 1);
  }

  /** A copy of the bytes, which later messages leave alone. */
  copy(): Uint8Array {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  /** @param least digits, with zeros in front where the value has fewer */
  #digits(value: number, least: number): void {
    let digits = least;
    for (let rest = 10 ** least; rest <= value; rest *= 10) digits += 1;
    this.#reserve(digits);
    let rest = value;
    for (let at = this.#length + digits - 1; at >= this.#length; at -= 1) {
      this.#bytes[at] = DIGIT_0 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    this.#length += digits;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
