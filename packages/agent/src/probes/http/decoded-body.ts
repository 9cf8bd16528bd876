import type { Duplex } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { type BodyEnd, type BodyListener, type BodySink, COMPLETE, NO_ROOM, TRUNCATED } from './body.ts';
import { type KeptBodies, KeptBytes } from './kept-bodies.ts';
import type { Semaphore } from './semaphore.ts';

const MAX_CODINGS = 2;

/**
 * Size of the largest window that decoders of `Content-Encoding: zstd` must
 * accept (RFC 9659), as the binary logarithm of the number of bytes.
 */
const ZSTD_WINDOW_LOG = 23;

/**
 * The codings of a `Content-Encoding`, in the order in which they were applied. If one of
 * them is unknown, the list is empty, and the bytes are left as they are, as browsers do.
 */
export function parseCodings(contentEncoding: string | undefined): string[] {
  if (contentEncoding === undefined) return [];
  const codings = contentEncoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  return codings.every((coding) => coding in DECODERS) ? codings : [];
}

const DECODERS: Readonly<Record<string, (firstByte: number) => Duplex>> = {
  __proto__: null as never,
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // "deflate" means zlib (RFC 9110, section 8.4.1.2), but some servers send raw deflate data.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};

/** Codings whose decoders need a window of megabytes. Other decoders need 32 KiB. */
const HEAVY = new Set(['br', 'zstd']);

/**
 * Maximum number of bodies that are decoded with {@link HEAVY} codings
 * at once. At worst, a body takes 16 MiB for each of its codings.
 */
export const HEAVY_DECODERS = 8;

/**
 * Decodes a body on the threads of Node's zlib, and keeps the first 2 MiB of the result.
 *
 * Decoding begins when the whole encoded body has come, or slightly more than 2 MiB of it. A decoder then
 * works for milliseconds and never waits for the target, so a few decoders can serve all bodies. A
 * thousand decompression bombs take no more memory for windows than {@link HEAVY_DECODERS} bodies. Of a
 * bomb, only 2 MiB are kept, and the rest is not decoded. An empty body is empty under every coding.
 */
export class DecodedBody implements BodySink {
  readonly #codings: readonly string[];
  readonly #listener: BodyListener;
  readonly #turns: Semaphore;
  readonly #encoded: KeptBytes;
  readonly #decoded: KeptBytes;
  #decoders: Duplex[] = [];
  #isCut = false;
  /**
   * Number of decoded bytes that a second try skips, because the
   * first try has kept them ({@link DecodedBody.#readsFirstMember}).
   */
  #toSkip = 0;
  #holdsTurn = false;
  /** Whether the end was reported, or the body was released. */
  #isEnded = false;
  #isReleased = false;

  /** @param codings at least one coding, as {@link parseCodings} returns them */
  constructor(codings: readonly string[], listener: BodyListener, budget: KeptBodies, turns: Semaphore) {
    this.#codings = codings;
    this.#listener = listener;
    this.#turns = turns;
    this.#encoded = new KeptBytes(budget, MAX_ENCODED_BYTES);
    this.#decoded = new KeptBytes(budget, LIMITS.responseBodyBytes);
  }

  write(bytes: Buffer, start: number, end: number): void {
    const stop = Math.min(end, start + MAX_ENCODED_BYTES - this.#encoded.length);
    if (!this.#encoded.tryAppend(bytes, start, stop)) {
      this.#listener.onBodyEnd(NO_ROOM);
    } else if (stop < end) {
      this.#isCut = true;
      this.#listener.onBodyFull();
      this.end();
    }
  }

  end(): void {
    // An answer to HEAD names the coding of a body that it does not have.
    if (this.#encoded.length === 0) this.#listener.onBodyEnd(COMPLETE);
    else if (this.#codings.length > MAX_CODINGS) this.#listener.onBodyEnd(TOO_MANY_CODINGS);
    else if (this.#codings.some((coding) => HEAVY.has(coding))) this.#turns.acquire(this.#startInTurn);
    else this.#start();
  }

  bytes(): Buffer {
    return this.#decoded.view();
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#stopDecoding();
    this.#encoded.release();
    this.#decoded.release();
    if (this.#holdsTurn) this.#turns.release();
  }

  readonly #startInTurn = (): void => {
    if (this.#isReleased) {
      this.#turns.release();
      return;
    }
    this.#holdsTurn = true;
    this.#start();
  };

  /** Starts to decode. The coding that was applied last is decoded first. */
  #start(): void {
    const encoded = this.#encoded.view();
    this.#run(encoded, this.#newDecoders(encoded));
  }

  #newDecoders(encoded: Buffer): Duplex[] {
    return this.#codings.toReversed().map((coding, index) => {
      const decoder = DECODERS[coding]?.(index === 0 ? (encoded[0] ?? 0) : ZLIB_FIRST_BYTE);
      if (decoder === undefined) throw new TypeError(`no decoder for ${coding}`);
      return decoder;
    });
  }

  #run(encoded: Buffer, decoders: Duplex[]): void {
    this.#decoders = decoders;
    for (const [index, decoder] of this.#decoders.entries()) {
      decoder.on('error', (error) => this.#failed(decoder, error));
      const next = this.#decoders[index + 1];
      if (next !== undefined) this.#connect(decoder, next);
    }
    const last = this.#decoders.at(-1);
    last?.on('data', (bytes: Buffer) => this.#keepBytes(bytes));
    last?.on('end', () => this.#finish(COMPLETE));
    this.#decoders[0]?.end(encoded);
  }

  #connect(decoder: Duplex, next: Duplex): void {
    let passed = 0;
    decoder.on('data', (bytes: Buffer) => {
      passed += bytes.length;
      if (passed > MAX_ENCODED_BYTES) this.#finish(MOSTLY_NOTHING);
    });
    decoder.pipe(next);
  }

  #keepBytes(given: Buffer): void {
    if (this.#isEnded) return;
    const bytes = given.subarray(this.#toSkip);
    this.#toSkip -= given.length - bytes.length;
    const stop = Math.min(bytes.length, LIMITS.responseBodyBytes - this.#decoded.length);
    if (!this.#decoded.tryAppend(bytes, 0, stop)) this.#finish(NO_ROOM);
    else if (stop < bytes.length) this.#finish(TRUNCATED);
  }

  #failed(decoder: Duplex, error: Error): void {
    const index = this.#decoders.indexOf(decoder);
    if (index === -1) return;
    const coding = this.#codings.at(-1 - index);
    if (index === 0 && this.#readsFirstMember(coding, error)) return;
    const message = `the body cannot be decoded as ${coding}: ${messageOf(error)}`;
    this.#finish(this.#isCut ? MOSTLY_NOTHING : { kind: 'undecodable', message });
  }

  /**
   * Decodes the first member of a gzip body alone and returns true, if the bytes after it are not another
   * member. Browsers ignore such bytes, but Node's decoder fails and loses what it has not passed on yet.
   */
  #readsFirstMember(coding: string | undefined, { message }: Error): boolean {
    const encoded = this.#encoded.view();
    const isGzip = coding === 'gzip' || coding === 'x-gzip';
    if (!isGzip || this.#isEnded || !NO_MEMBER.has(message)) return false;
    const start = gzipDataStart(encoded);
    if (start === undefined) return false;
    for (const decoder of this.#decoders) decoder.destroy();
    this.#toSkip = this.#decoded.length;
    this.#run(encoded.subarray(start), [createInflateRaw(), ...this.#newDecoders(encoded).slice(1)]);
    return true;
  }

  #finish(end: BodyEnd): void {
    if (this.#isEnded) return;
    this.#stopDecoding();
    this.#listener.onBodyEnd(end);
  }

  #stopDecoding(): void {
    this.#isEnded = true;
    for (const decoder of this.#decoders) decoder.destroy();
  }
}

/**
 * Maximum number of encoded bytes that are kept. No encoder makes its input much longer. So a
 * longer body decodes to more than 2 MiB, or consists mostly of bytes that decode to nothing.
 */
const MAX_ENCODED_BYTES = LIMITS.responseBodyBytes + 64 * 1_024;
const MOSTLY_NOTHING: BodyEnd = {
  kind: 'undecodable',
  message: 'the body cannot be decoded: its encoded form is longer than its content',
};

const TOO_MANY_CODINGS: BodyEnd = {
  kind: 'undecodable',
  message: `the body was encoded more than ${MAX_CODINGS} times`,
};

/** zlib's error messages about bytes that are not the beginning of a gzip member. */
const NO_MEMBER = new Set([
  'incorrect header check',
  'unknown compression method',
  'unknown header flags set',
]);

/**
 * A first byte of zlib's format (compression method 8). It stands for the first byte of an inner
 * `deflate`, which is not known before the outer coding is decoded. So an inner `deflate` is always
 * read as zlib (RFC 9110, section 8.4.1.2).
 */
const ZLIB_FIRST_BYTE = 0x78;

const EXTRA = 0x04;
const NAME = 0x08;
const COMMENT = 0x10;
const HEADER_CHECKSUM = 0x02;
const RESERVED = 0xe0;

/**
 * Offset at which the compressed data of the first gzip member begin (RFC 1952,
 * section 2.3). Undefined when `bytes` do not begin with a whole, valid header.
 */
function gzipDataStart(bytes: Uint8Array): number | undefined {
  const flags = bytes[3] ?? RESERVED;
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8 || (flags & RESERVED) !== 0) return undefined;
  let start = 10;
  if ((flags & EXTRA) !== 0) start += 2 + (bytes[start] ?? 0) + 256 * (bytes[start + 1] ?? 0);
  for (const text of [NAME, COMMENT]) {
    if ((flags & text) === 0) continue;
    const end = bytes.indexOf(0, start);
    if (end === -1) return undefined;
    start = end + 1;
  }
  if ((flags & HEADER_CHECKSUM) !== 0) start += 2;
  return start < bytes.length ? start : undefined;
}
