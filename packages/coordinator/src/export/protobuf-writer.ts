import { ByteWriter } from './byte-writer.ts';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FOUR_BYTES = 2 ** 32;

const DOUBLE = new DataView(new ArrayBuffer(8));
const DOUBLE_BYTES = new Uint8Array(DOUBLE.buffer);
/** Numbers below it are shifted as integers. */
const SHIFTED = 2 ** 31;

/** Writes fields of protobuf (protobuf.dev/programming-guides/encoding, read on 2026-11-22). */
export class ProtobufWriter extends ByteWriter {
  /** @param value >= 0, whole */
  varint(field: number, value: number): void {
    this.#tag(field, VARINT);
    this.rawVarint(value);
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

  /** Eight bytes that were encoded before. */
  eight(field: number, encoded: Uint8Array): void {
    this.#tag(field, FIXED64);
    this.raw(encoded);
  }

  bytes(field: number, value: Uint8Array): void {
    this.begin(field, value.length);
    this.raw(value);
  }

  /** A message of so many bytes, which are written next. */
  begin(field: number, length: number): void {
    this.#tag(field, BYTES);
    this.rawVarint(length);
  }

  text(field: number, value: string): void {
    this.bytes(field, Buffer.from(value));
  }

  rawVarint(value: number): void {
    this.room(10);
    let rest = value;
    // Numbers have 53 bits: shifting would cut them to 32.
    while (rest >= SHIFTED) {
      this.buffer[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest >= 0x80) {
      this.buffer[this.length++] = (rest & 0x7f) | 0x80;
      rest >>= 7;
    }
    this.buffer[this.length++] = rest;
  }

  /** As packed fields have them. */
  rawVarints(values: Uint32Array, start: number, end: number): void {
    for (let place = start; place < end; place += 1) {
      const value = values[place] as number;
      // Most buckets of most histograms.
      if (value < 0x80) this.byte(value);
      else this.rawVarint(value);
    }
  }

  rawFixed64(value: number): void {
    this.room(8);
    const high = value < FOUR_BYTES ? 0 : Math.floor(value / FOUR_BYTES);
    this.#four(high === 0 ? value : value - high * FOUR_BYTES);
    this.#four(high);
  }

  rawDouble(value: number): void {
    this.room(8);
    DOUBLE.setFloat64(0, value, true);
    for (let at = 0; at < 8; at += 1) this.buffer[this.length++] = DOUBLE_BYTES[at] as number;
  }

  /** @param value a whole number below 2^32 */
  #four(value: number): void {
    const { buffer, length } = this;
    buffer[length] = value;
    buffer[length + 1] = value >>> 8;
    buffer[length + 2] = value >>> 16;
    buffer[length + 3] = value >>> 24;
    this.length += 4;
  }

  #tag(field: number, type: number): void {
    this.rawVarint(field * 8 + type);
  }
}

/** An instant as `fixed64`. Nanoseconds are more than a number holds exactly. */
export function encodedTime(epochMs: number): Uint8Array {
  const encoded = Buffer.alloc(8);
  encoded.writeBigUInt64LE(BigInt(Math.trunc(epochMs)) * 1_000_000n);
  return encoded;
}

/** Bytes of a `varint`. */
export function varintLength(value: number): number {
  let length = 1;
  for (let bound = 0x80; value >= bound; bound *= 0x80) length += 1;
  return length;
}

/** A `sint32` as the `varint` that stands for it. */
export function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1;
}

/** The `sint32` that this `varint` stands for. */
export function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
