const FIRST_SIZE = 1_024;
const ZERO = 48;

/** Writes bytes and ASCII text into a buffer that grows, and that is used again. */
export class ByteWriter {
  length = 0;
  buffer = Buffer.allocUnsafeSlow(FIRST_SIZE);

  /** Forgets what was written. */
  clear(): void {
    this.length = 0;
  }

  /** What was written, valid until the next call. */
  written(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  raw(bytes: Uint8Array): void {
    this.room(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A number in decimal digits, as JSON has it. */
  decimal(value: number): void {
    this.room(32);
    if (value >= 0 && value < 0x4000_0000 && (value | 0) === value) this.#digits(value);
    else {
      const text = String(value);
      for (let at = 0; at < text.length; at += 1) this.buffer[this.length + at] = text.charCodeAt(at);
      this.length += text.length;
    }
  }

  byte(value: number): void {
    this.room(1);
    this.buffer[this.length++] = value;
  }

  /** Makes room for so many bytes more. */
  room(more: number): void {
    if (this.length + more <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.length + more));
    larger.set(this.written());
    this.buffer = larger;
  }

  #digits(value: number): void {
    let places = 1;
    for (let power = 10; power <= value; power *= 10) places += 1;
    let rest = value;
    for (let at = this.length + places - 1; at >= this.length; at -= 1) {
      const tenth = (rest / 10) | 0;
      this.buffer[at] = ZERO + rest - tenth * 10;
      rest = tenth;
    }
    this.length += places;
  }
}
