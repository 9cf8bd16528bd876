import { ByteWriter } from './byte-writer.ts';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

/** Writes fields of protobuf (protobuf.dev/programming-guides/encoding, read on 2026-11-22). */
export class ProtobufWriter extends ByteWriter {
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

  /** Eight bytes that were encoded before. */
  eight(field: number, encoded: Uint8Array): void {
    this.#tag(field, FIXED64);
    this.raw(encoded);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, BYTES);
    this.rawVarint(value.length);
    this.raw(value);
  }

  text(field: number, value: string): void {
    this.bytes(field, Buffer.from(value));
  }

  rawVarint(value: number): void {
    this.room(10);
    let rest = value;
    // Numbers have 53 bits: shifting would cut them to 32.
    while (rest >= 0x80) {
      this.buffer[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.buffer[this.length++] = rest;
  }

  rawFixed64(value: number): void {
    this.room(8);
    let rest = value;
    for (let place = 0; place < 8; place += 1) {
      this.buffer[this.length++] = rest % 0x100;
      rest = rest < 0x100 ? 0 : Math.floor(rest / 0x100);
    }
  }

  rawDouble(value: number): void {
    this.room(8);
    this.length = this.buffer.writeDoubleLE(value, this.length);
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
