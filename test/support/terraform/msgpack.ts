import { Decimal, isObjectValue, type ObjectValue, UNKNOWN, type Value } from './value.ts';

/** MessagePack as Terraform writes and reads values (msgpack.org specification, the types it uses). */
export function encode(value: Value): Buffer {
  const parts: Buffer[] = [];
  write(value, parts);
  return Buffer.concat(parts);
}

function write(value: Value, parts: Buffer[]): void {
  if (value === null) parts.push(Buffer.of(0xc0));
  else if (value === UNKNOWN)
    parts.push(Buffer.of(0xd4, 0x00, 0x00)); // fixext 1, type 0
  else if (typeof value === 'boolean') parts.push(Buffer.of(value ? 0xc3 : 0xc2));
  else if (typeof value === 'string') writeText(value, parts);
  else if (value instanceof Decimal) writeNumber(value, parts);
  else if (isObjectValue(value)) writeMap(value, parts);
  else if (Array.isArray(value)) {
    parts.push(sized(value.length, 0x90, 16, 0xdc));
    for (const member of value) write(member, parts);
  }
}

function writeMap(value: ObjectValue, parts: Buffer[]): void {
  const entries = Object.entries(value);
  parts.push(sized(entries.length, 0x80, 16, 0xde));
  for (const [name, member] of entries) {
    writeText(name, parts);
    write(member, parts);
  }
}

function writeText(text: string, parts: Buffer[]): void {
  const bytes = Buffer.from(text);
  if (bytes.length >= 32 && bytes.length < 256) parts.push(Buffer.of(0xd9, bytes.length));
  else parts.push(sized(bytes.length, 0xa0, 32, 0xda));
  parts.push(bytes);
}

/** The length in the tag itself where it fits, else in two or four bytes. */
function sized(length: number, tag: number, below: number, wide: number): Buffer {
  if (length < below) return Buffer.of(tag | length);
  if (length < 0x10000) return Buffer.of(wide, length >> 8, length & 0xff);
  const buffer = Buffer.alloc(5);
  buffer.writeUInt8(wide + 1);
  buffer.writeUInt32BE(length, 1);
  return buffer;
}

/** Whole numbers as integers, fractions that are exact in binary as doubles, everything else as text. */
function writeNumber(value: Decimal, parts: Buffer[]): void {
  if (value.isWhole) {
    const whole = BigInt(value.text);
    if (whole >= 0n && whole < 128n) parts.push(Buffer.of(Number(whole)));
    else if (whole >= -(2n ** 63n) && whole < 2n ** 63n) {
      const buffer = Buffer.alloc(9);
      buffer.writeUInt8(0xd3);
      buffer.writeBigInt64BE(whole, 1);
      parts.push(buffer);
    } else writeText(value.text, parts);
  } else if (isExactInBinary(value)) {
    const buffer = Buffer.alloc(9);
    buffer.writeUInt8(0xcb);
    buffer.writeDoubleBE(Number(value.text), 1);
    parts.push(buffer);
  } else writeText(value.text, parts);
}

function isExactInBinary({ text }: Decimal): boolean {
  const [whole = '', fraction = ''] = text.split('.');
  const digits = BigInt(`${whole}${fraction}`);
  return digits % 5n ** BigInt(fraction.length) === 0n && Number(text).toString() === text;
}

/** @throws Error when the bytes are not one whole value */
export function decode(bytes: Uint8Array): Value {
  const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const value = reader.value();
  if (reader.left > 0) throw new Error(`${reader.left} bytes follow the value`);
  return value;
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  value(): Value {
    const tag = this.#unsigned(1);
    if (tag < 0x80) return new Decimal(String(tag));
    if (tag < 0x90) return this.#map(tag & 0x0f);
    if (tag < 0xa0) return this.#list(tag & 0x0f);
    if (tag < 0xc0) return this.#text(tag & 0x1f);
    if (tag >= 0xe0) return new Decimal(String(tag - 0x100));
    return this.#tagged(tag);
  }

  #tagged(tag: number): Value {
    if (tag === 0xc0) return null;
    if (tag === 0xc2 || tag === 0xc3) return tag === 0xc3;
    if (tag >= 0xc7 && tag <= 0xc9) return this.#extension(this.#unsigned(1 << (tag - 0xc7)));
    if (tag === 0xca || tag === 0xcb) return this.#float(tag === 0xca ? 4 : 8);
    if (tag >= 0xcc && tag <= 0xcf) return this.#integer(1 << (tag - 0xcc), false);
    if (tag >= 0xd0 && tag <= 0xd3) return this.#integer(1 << (tag - 0xd0), true);
    if (tag >= 0xd4 && tag <= 0xd8) return this.#extension(1 << (tag - 0xd4));
    if (tag >= 0xd9 && tag <= 0xdb) return this.#text(this.#unsigned(1 << (tag - 0xd9)));
    if (tag === 0xdc || tag === 0xdd) return this.#list(this.#unsigned(tag === 0xdc ? 2 : 4));
    if (tag === 0xde || tag === 0xdf) return this.#map(this.#unsigned(tag === 0xde ? 2 : 4));
    throw new Error(`no value starts with byte 0x${tag.toString(16)} (binary data is not a Terraform value)`);
  }

  #take(length: number): Buffer {
    if (length > this.left) throw new Error(`${length} bytes announced, ${this.left} left`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #unsigned(length: number): number {
    return this.#take(length).readUIntBE(0, length);
  }

  #integer(length: number, isSigned: boolean): Decimal {
    const bytes = this.#take(length);
    if (length === 8) return new Decimal(String(isSigned ? bytes.readBigInt64BE() : bytes.readBigUInt64BE()));
    return new Decimal(String(isSigned ? bytes.readIntBE(0, length) : bytes.readUIntBE(0, length)));
  }

  #float(length: 4 | 8): Decimal {
    const bytes = this.#take(length);
    return new Decimal(String(length === 4 ? bytes.readFloatBE() : bytes.readDoubleBE()));
  }

  #text(length: number): string {
    return new TextDecoder('utf-8', { fatal: true }).decode(this.#take(length));
  }

  #list(length: number): Value[] {
    return Array.from({ length }, () => this.value());
  }

  #map(length: number): ObjectValue {
    const entries: [string, Value][] = [];
    for (let index = 0; index < length; index += 1) {
      const name = this.value();
      if (typeof name !== 'string') throw new Error('a key that is not a text');
      entries.push([name, this.value()]);
    }
    return Object.fromEntries(entries);
  }

  /** A provider answers plain unknowns (type 0) only. */
  #extension(length: number): typeof UNKNOWN {
    const type = this.#take(1).readInt8();
    this.#take(length);
    if (type !== 0) throw new Error(`extension ${type} is no unknown value`);
    return UNKNOWN;
  }
}
