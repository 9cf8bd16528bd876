/**
 * A number is split at this power of ten and written in two halves, because integers of 31 bits are divided
 * several times as fast as larger integers.
 */
const HALF = 1_000_000_000;
/** Powers of ten by their exponents, as many as `Number.MAX_SAFE_INTEGER` has digits. */
const POWERS = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
const DIGIT_0 = 0x30;
const POINT = 0x2e;
/** UTF-8 takes three bytes at most for each unit of a string. */
const BYTES_PER_UNIT = 3;

/**
 * Maximum number of tenths that {@link TextBytes.decimal} writes digit by digit. Other
 * numbers are written as strings.
 */
const MOST_TENTHS = 2 ** 31;

/**
 * Builds a text from many pieces as bytes, in memory that the next text uses again. With strings, every piece
 * would be an object, and the whole text would be copied once more before it is sent or stored.
 */
export class TextBytes {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity initial size of the memory, bytes; it grows when a text is longer */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Number of bytes written so far. */
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
    // `%` is not used, because it takes ten times as long for large numbers. The quotient may be rounded up
    // to the next integer, which makes `low` negative.
    let high = Math.floor(value / HALF);
    let low = value - high * HALF;
    if (low < 0) {
      high -= 1;
      low += HALF;
    }
    if (high > 0) this.#digits(high, 1);
    this.#digits(low, high > 0 ? 9 : 1);
  }

  /**
   * Appends a number in the form of `String`. Numbers from 0 to {@link MOST_TENTHS} tenths with at most one
   * decimal are written fast.
   */
  decimal(value: number): void {
    const tenths = Math.round(value * 10);
    if (!(tenths >= 0 && tenths <= MOST_TENTHS) || tenths / 10 !== value) {
      this.ascii(String(value));
      return;
    }
    const tenth = tenths % 10;
    this.#digits((tenths - tenth) / 10, 1);
    if (tenth === 0) return;
    this.#reserve(2);
    this.#bytes[this.#length] = POINT;
    this.#bytes[this.#length + 1] = DIGIT_0 + tenth;
    this.#length += 2;
  }

  /** A copy of the bytes. Later texts do not change the copy. */
  copy(): Uint8Array {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  /** The bytes as a text, which must be ASCII. */
  asciiText(): string {
    return this.#bytes.toString('latin1', 0, this.#length);
  }

  /** @param least minimum number of digits; a value with fewer digits gets zeros in front */
  #digits(value: number, least: number): void {
    let digits = least;
    while (digits < POWERS.length && value >= (POWERS[digits] as number)) digits += 1;
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
