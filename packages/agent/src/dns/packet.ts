import { addressFromBytes } from '@svc/shared/address.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { RECORD_TYPES, type RecordType } from '@svc/shared/messages/check.ts';

/**
 * DNS messages on the wire (RFC 1035, 3596, 6891). This file writes queries and reads answers.
 *
 * A name that was read is text in lower case without a trailing dot; the root is `.`. A dot or backslash
 * inside a label has a backslash before it. Any other byte that is not visible ASCII is `\DDD` (decimal).
 */

/** The bytes are not a DNS message that svc can read, or DNS cannot carry the name. */
export class DnsFormatError extends SvcError {
  constructor(message: string) {
    super('EDNSFORMAT', message);
  }
}

export type DnsQuestion = { name: string; type: RecordType };

/** A record of an answer. `name` is its owner, and `ttl` is in seconds. */
export type DnsRecord = { name: string; ttl: number } & (
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'CNAME'; target: string }
  | { type: 'MX'; preference: number; exchange: string }
  | { type: 'TXT'; text: string }
);

export type DnsMessage = {
  id: number;
  isResponse: boolean;
  isTruncated: boolean;
  /** RFC 1035 RCODE, 0 to 15. */
  rcode: number;
  /**
   * Whether the answer is a referral: it only names other servers,
   * and the server that sent it will not ask them itself.
   */
  isReferral: boolean;
  /**
   * The question that the message repeats. Null when it repeats
   * none, or when the class is not IN or no probe asks for the type.
   */
  question: DnsQuestion | null;
  /** The records of the answer section that have a known type and class IN; empty if `isTruncated`. */
  answers: DnsRecord[];
};

export const RCODE = {
  ok: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
};

/**
 * Size of the largest answer over UDP that svc asks for, bytes.
 * An answer of this size is not fragmented (DNS flag day 2020).
 */
const UDP_PAYLOAD_BYTES = 1_232;
const HEADER_BYTES = 12;
const MAX_NAME_BYTES = 255;
/** Maximum number of compression pointers in a name. A name cannot have as many labels (127 at most). */
const MAX_POINTERS = 128;
const CLASS_IN = 1;
const TYPE_CODES: Record<RecordType, number> = { A: 1, CNAME: 5, MX: 15, TXT: 16, AAAA: 28 };
const TYPE_NS = 2;
const TYPE_OPT = 41;
const DOT = 0x2e;
const BACKSLASH = 0x5c;
const TYPES = new Map<number, RecordType>(RECORD_TYPES.map((type) => [TYPE_CODES[type], type]));

/**
 * Writes a query that asks the server for recursion (the RD flag).
 *
 * @param withEdns whether to accept answers up to 1,232 bytes; false for servers that fail on EDNS
 * @throws DnsFormatError when the name has an empty label, a label over 63 bytes, a character
 *   of more than one byte, a backslash at its end, or more than 255 bytes on the wire
 */
export function encodeQuery(id: number, { name, type }: DnsQuestion, withEdns: boolean): Buffer {
  const encodedName = encodeName(name);
  const query = Buffer.alloc(HEADER_BYTES + encodedName.length + 4 + (withEdns ? 11 : 0));
  query.writeUInt16BE(id, 0);
  query.writeUInt16BE(0x0100, 2); // RD
  query.writeUInt16BE(1, 4);
  query.writeUInt16BE(withEdns ? 1 : 0, 10);
  encodedName.copy(query, HEADER_BYTES);
  let at = HEADER_BYTES + encodedName.length;
  at = query.writeUInt16BE(TYPE_CODES[type], at);
  at = query.writeUInt16BE(CLASS_IN, at);
  if (withEdns) {
    at = query.writeUInt8(0, at); // root
    at = query.writeUInt16BE(TYPE_OPT, at);
    query.writeUInt16BE(UDP_PAYLOAD_BYTES, at); // version, flags and options stay 0
  }
  return query;
}

/** A dot at the end of a name. No backslash escapes it, so it is not part of a label. */
const FINAL_DOT = /(?:^|[^\\])(?:\\\\)*\.$/;

/**
 * Encodes a name without compression.
 *
 * @throws DnsFormatError in the cases that {@link encodeQuery} lists
 */
export function encodeName(name: string): Buffer {
  const bytes: number[] = [];
  const bare = FINAL_DOT.test(name) ? name.slice(0, -1) : name;
  for (const label of bare === '' ? [] : splitLabels(bare)) {
    if (label.length === 0) throw new DnsFormatError('the name has an empty label');
    if (label.length > 63) throw new DnsFormatError('the name has a label of more than 63 bytes');
    bytes.push(label.length, ...label);
  }
  bytes.push(0);
  if (bytes.length > MAX_NAME_BYTES) throw new DnsFormatError('the name has more than 255 bytes');
  return Buffer.from(bytes);
}

/**
 * The name as {@link decodeMessage} would return it.
 *
 * @throws DnsFormatError like {@link encodeName}
 */
export function canonicalName(name: string): string {
  return new Reader(encodeName(name)).name();
}

function splitLabels(name: string): number[][] {
  let label: number[] = [];
  const labels = [label];
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    if (code === DOT) {
      label = [];
      labels.push(label);
    } else if (code === BACKSLASH) {
      const [text = ''] = /^(?:\d{3}|.)?/s.exec(name.slice(at + 1, at + 4)) ?? [];
      label.push(byteOf(text.length === 3 ? Number(text) : text.charCodeAt(0)));
      at += text.length;
    } else {
      label.push(byteOf(code));
    }
  }
  return labels;
}

function byteOf(code: number): number {
  // The check is not `code > 255`, because the code after a last backslash is NaN.
  if (!(code <= 255)) throw new DnsFormatError('the name has a character of more than one byte');
  return code;
}

/**
 * Reads one message. The result has only the parts that svc uses.
 *
 * @throws DnsFormatError and no other error, whatever the bytes are
 */
export function decodeMessage(data: Uint8Array): DnsMessage {
  if (data.length < HEADER_BYTES) throw new DnsFormatError('shorter than a header');
  const reader = new Reader(data);
  const id = reader.uint16();
  const flags = reader.uint16();
  const questions = reader.uint16();
  const answerCount = reader.uint16();
  const authorityCount = reader.uint16();
  reader.skip(2);
  if (questions > 1) throw new DnsFormatError(`${questions} questions`);
  const isTruncated = (flags & 0x0200) !== 0;
  const question = questions === 1 ? readQuestion(reader) : null;
  // The answers of a truncated message are not read. The last record may be cut off, and the
  // question is sent again over TCP.
  const answers = isTruncated ? [] : readAnswers(reader, answerCount);
  const isReferral =
    !isTruncated &&
    (flags & KNOWS) === 0 &&
    answerCount === 0 &&
    authorityCount > 0 &&
    isNext(reader, TYPE_NS);
  return {
    id,
    isResponse: (flags & 0x8000) !== 0,
    isTruncated,
    rcode: flags & 0x0f,
    isReferral,
    question,
    answers,
  };
}

/**
 * Bits that no referral has: authoritative answer, recursion available, and an RCODE other
 * than 0 (RFC 2308, section 2.2).
 */
const KNOWS = 0x048f;

/** Whether the next record has this type; false when the record cannot be read. */
function isNext(reader: Reader, type: number): boolean {
  try {
    reader.name();
    return reader.uint16() === type;
  } catch {
    // The record cannot be read. This is no error, because nothing after the answers is needed.
    return false;
  }
}

function readQuestion(reader: Reader): DnsQuestion | null {
  const name = reader.name();
  const type = TYPES.get(reader.uint16());
  const isInternet = reader.uint16() === CLASS_IN;
  return type !== undefined && isInternet ? { name, type } : null;
}

function readAnswers(reader: Reader, count: number): DnsRecord[] {
  const answers: DnsRecord[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = reader.name();
    const type = TYPES.get(reader.uint16());
    const isInternet = reader.uint16() === CLASS_IN;
    const ttl = reader.uint32();
    const end = reader.uint16() + reader.offset;
    if (end > reader.length) throw new DnsFormatError('a record runs past the end');
    if (type !== undefined && isInternet) {
      answers.push(readData(reader, { name, ttl }, type, end));
      if (reader.offset !== end) throw new DnsFormatError(`a ${type} record has the wrong length`);
    }
    reader.offset = end;
  }
  return answers;
}

function readData(
  reader: Reader,
  owner: { name: string; ttl: number },
  type: RecordType,
  end: number,
): DnsRecord {
  switch (type) {
    case 'A':
    case 'AAAA': {
      const size = type === 'A' ? 4 : 16;
      if (end - reader.offset !== size) throw new DnsFormatError(`an ${type} record has the wrong length`);
      return { ...owner, type, address: addressFromBytes(reader.bytes(size)) };
    }
    case 'CNAME':
      return { ...owner, type, target: reader.name() };
    case 'MX':
      return { ...owner, type, preference: reader.uint16(), exchange: reader.name() };
    case 'TXT':
      return { ...owner, type, text: readText(reader, end) };
    default:
      return type satisfies never;
  }
}

/**
 * Reads the character strings of a TXT record (RFC 1035, section 3.3.14)
 * and joins them without a separator. The bytes are read as UTF-8.
 */
function readText(reader: Reader, end: number): string {
  const chunks: Uint8Array[] = [];
  while (reader.offset < end) {
    const size = reader.uint8();
    if (reader.offset + size > end) throw new DnsFormatError('a text runs past its record');
    chunks.push(reader.bytes(size));
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `size` is the name's length on the wire without compression, bytes. `end` is the offset after the name. */
type Name = { text: string; size: number; end: number };

class Reader {
  readonly #data: Uint8Array;
  /**
   * Names that compression pointers lead to, by offset. Without this cache, reading
   * a message of 64 KiB that is full of pointers to one long name takes a second.
   */
  readonly #shared = new Map<number, Name>();
  offset = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  get length(): number {
    return this.#data.length;
  }

  uint8(): number {
    return this.#at(this.offset++);
  }

  uint16(): number {
    return this.uint8() * 0x100 + this.uint8();
  }

  uint32(): number {
    return this.uint16() * 0x1_0000 + this.uint16();
  }

  skip(count: number): void {
    this.offset += count;
  }

  bytes(count: number): Uint8Array {
    if (this.offset + count > this.#data.length) throw new DnsFormatError('cut short');
    this.offset += count;
    return this.#data.subarray(this.offset - count, this.offset);
  }

  /** Reads a name, compressed or not (RFC 1035, section 4.1.4). */
  name(): string {
    const { text, end } = this.#nameAt(this.offset, MAX_POINTERS);
    this.offset = end;
    return text === '' ? '.' : text;
  }

  /**
   * Reads the name at an offset.
   *
   * @param pointers how many more compression pointers may be followed
   */
  #nameAt(start: number, pointers: number): Name {
    let text = '';
    let size = 1;
    let at = start;
    for (let length = this.#at(at++); length !== 0; length = this.#at(at++)) {
      if (length >= 0xc0) {
        const target = (length & 0x3f) * 0x100 + this.#at(at++);
        // A pointer must lead to a place before the start of its own name, so that
        // no chain of pointers can loop.
        if (target >= start) throw new DnsFormatError('a compression pointer does not lead back');
        const rest = this.#pointedTo(target, pointers - 1);
        return { text: joined(text, rest.text), size: boundedSize(size + rest.size - 1), end: at };
      }
      if (length > 63) throw new DnsFormatError('a label of unknown kind');
      size = boundedSize(size + length + 1);
      let label = '';
      for (const end = at + length; at < end; at += 1) label += labelCharacter(this.#at(at));
      text = joined(text, label);
    }
    return { text, size, end: at };
  }

  #pointedTo(target: number, pointers: number): Name {
    if (pointers < 0) throw new DnsFormatError('too many compression pointers');
    let name = this.#shared.get(target);
    if (name === undefined) {
      name = this.#nameAt(target, pointers);
      this.#shared.set(target, name);
    }
    return name;
  }

  #at(offset: number): number {
    const byte = this.#data[offset];
    if (byte === undefined) throw new DnsFormatError('cut short');
    return byte;
  }
}

function joined(labels: string, rest: string): string {
  return labels === '' || rest === '' ? labels + rest : `${labels}.${rest}`;
}

function boundedSize(size: number): number {
  if (size > MAX_NAME_BYTES) throw new DnsFormatError('a name of more than 255 bytes');
  return size;
}

function labelCharacter(byte: number): string {
  if (byte >= 0x41 && byte <= 0x5a) return String.fromCharCode(byte + 0x20);
  if (byte === DOT || byte === BACKSLASH) return `\\${String.fromCharCode(byte)}`;
  if (byte > 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `\\${String(byte).padStart(3, '0')}`;
}
