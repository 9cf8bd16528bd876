const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

const FIRST_SIZE = 1_024;

/** Writes fields of protobuf into a buffer that grows (protobuf.dev/programming-guides/encoding, read on 2026-11-22). */
export class ProtobufWriter {
  length = 0;
  #buffer = Buffer.allocUnsafe(FIRST_SIZE);

  /** Forgets what was written. */
  clear(): void {
    this.length = 0;
  }

  /** What was written, valid until the next call. */
  written(): Uint8Array {
    return this.#buffer.subarray(0, this.length);
  }

  /** @param value >= 0, whole */
  varint(field: number, value: number): void {
    this.#tag(field, VARINT);
    this.rawVarint(value);
  }

  /** As `sint32`. */
  zigzag(field: number, value: number): void {
    this.varint(field, value >= 0 ? value * 2 : -value * 2 - 1);
  }

  /** As `fixed64`, or `sfixed64` where it is not negative. */
  fixed64(field: number, value: number): void {
    this.#tag(field, FIXED64);
    this.rawFixed64(value);
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED64);
    this.rawDouble(value);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, BYTES);
    this.rawVarint(value.length);
    this.#room(value.length);
    this.#buffer.set(value, this.length);
    this.length += value.length;
  }

  text(field: number, value: string): void {
    this.bytes(field, Buffer.from(value));
  }

  rawVarint(value: number): void {
    this.#room(10);
    let rest = value;
    // Numbers have 53 bits: shifting would cut them to 32.
    while (rest >= 0x80) {
      this.#buffer[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.length++] = rest;
  }

  rawFixed64(value: number): void {
    this.#room(8);
    this.#buffer.writeUInt32LE(value % 0x1_0000_0000, this.length);
    this.#buffer.writeUInt32LE(Math.floor(value / 0x1_0000_0000), this.length + 4);
    this.length += 8;
  }

  rawDouble(value: number): void {
    this.#room(8);
    this.length = this.#buffer.writeDoubleLE(value, this.length);
  }

  /** Times are more than a number holds exactly. */
  nanoseconds(field: number, epochMs: bigint): void {
    this.#tag(field, FIXED64);
    this.#room(8);
    this.length = this.#buffer.writeBigUInt64LE(epochMs * 1_000_000n, this.length);
  }

  #tag(field: number, type: number): void {
    this.rawVarint(field * 8 + type);
  }

  #room(more: number): void {
    if (this.length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.length + more));
    larger.set(this.written());
    this.#buffer = larger;
  }
}
