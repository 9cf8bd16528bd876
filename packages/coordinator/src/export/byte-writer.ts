const FIRST_SIZE = 1_024;
const ZERO = 48;
const POINT = 46;
const COMMA = 44;
const QUOTE = 34;
/** Fewer bytes are copied faster one by one than by a call. */
const FEW_BYTES = 32;
const BILLION = 1e9;

/** Writes bytes and ASCII text into a buffer that grows, and that is used again. */
export class ByteWriter {
  length = 0;
  buffer = new Uint8Array(FIRST_SIZE);

  /** Forgets what was written. */
  clear(): void {
    this.length = 0;
  }

  /** What was written, valid until the next call. */
  written(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  raw(bytes: Uint8Array): void {
    const { length } = bytes;
    this.room(length);
    if (length > FEW_BYTES) this.buffer.set(bytes, this.length);
    else for (let at = 0; at < length; at += 1) this.buffer[this.length + at] = bytes[at] as number;
    this.length += length;
  }

  /** A number in decimal digits, as JSON has it. */
  decimal(value: number): void {
    this.room(32);
    if (value >= 0 && value < 0x4000_0000 && (value | 0) === value) this.#digits(value);
    else if (Number.isSafeInteger(value) && value >= BILLION) this.#longDigits(value);
    else this.#text(String(value));
  }

  /** A whole number of billionths as the decimal number that it is; the engine takes longer for a fraction. */
  billionths(value: number): void {
    this.room(32);
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
      this.#text(String(value / BILLION));
      return;
    }
    const whole = wholeBillions(value);
    this.#digits(whole);
    const fraction = value - whole * BILLION;
    if (fraction > 0) this.#fraction(fraction);
  }

  /** Some whole numbers below 2^32 as JSON has a list of 64-bit integers, without its brackets. */
  quotedDecimals(values: Uint32Array, start: number, end: number): void {
    this.room((end - start) * 13);
    const { buffer } = this;
    for (let place = start; place < end; place += 1) {
      if (place > start) buffer[this.length++] = COMMA;
      buffer[this.length++] = QUOTE;
      const value = values[place] as number;
      // Most buckets of most histograms.
      if (value < 10) buffer[this.length++] = ZERO + value;
      else this.#digits(value);
      buffer[this.length++] = QUOTE;
    }
  }

  byte(value: number): void {
    this.room(1);
    this.buffer[this.length++] = value;
  }

  /** Makes room for so many bytes more. */
  room(more: number): void {
    if (this.length + more <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(this.buffer.length * 2, this.length + more));
    larger.set(this.written());
    this.buffer = larger;
  }

  #text(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.buffer[this.length + at] = text.charCodeAt(at);
    this.length += text.length;
  }

  #digits(value: number): void {
    let places = 1;
    for (let power = 10; power <= value; power *= 10) places += 1;
    this.#padded(value, places);
  }

  #longDigits(value: number): void {
    const high = wholeBillions(value);
    this.#digits(high);
    this.#padded(value - high * BILLION, 9);
  }

  /** @param billionths 1 to 999,999,999 */
  #fraction(billionths: number): void {
    this.buffer[this.length++] = POINT;
    let rest = billionths | 0;
    let places = 9;
    for (let tenth = (rest / 10) | 0; tenth * 10 === rest; tenth = (rest / 10) | 0) {
      rest = tenth;
      places -= 1;
    }
    this.#padded(rest, places);
  }

  #padded(value: number, places: number): void {
    let rest = value;
    for (let at = this.length + places - 1; at >= this.length; at -= 1) {
      const tenth = (rest / 10) | 0;
      this.buffer[at] = ZERO + rest - tenth * 10;
      rest = tenth;
    }
    this.length += places;
  }
}

/** A remainder by `%` takes four times as long. @param value >= 0, whole */
function wholeBillions(value: number): number {
  const whole = Math.floor(value / BILLION);
  // A quotient just below a whole number may be rounded up to it.
  return whole * BILLION > value ? whole - 1 : whole;
}
