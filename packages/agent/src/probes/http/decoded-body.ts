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
import { type BodyEnd, type BodyListener, type BodySink, COMPLETE, KeptBody } from './body.ts';
import type { KeptBodies } from './kept-bodies.ts';

const MAX_CODINGS = 3;

/** RFC 9659: what decoders of `Content-Encoding: zstd` must accept, and no more. */
const ZSTD_WINDOW_LOG = 23;

/**
 * The codings of a `Content-Encoding` in the order they were applied.
 *
 * @returns undefined when there is one that we cannot decode
 */
export function parseCodings(contentEncoding: string | undefined): string[] | undefined {
  if (contentEncoding === undefined) return [];
  const codings = contentEncoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  return codings.length <= MAX_CODINGS && codings.every((coding) => coding in DECODERS) ? codings : undefined;
}

const DECODERS: Readonly<Record<string, (firstByte: number) => Duplex>> = {
  __proto__: null as never,
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // "deflate" means zlib (RFC 9110, section 8.4.1.2), but some servers send it bare.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};

/**
 * Decodes a body piece by piece on zlib's threads and keeps the first 2 MiB of what comes out. A bomb
 * costs its 2 MiB and at most one more piece (16 KiB): decoding stops there. An empty body is empty
 * under every coding.
 */
export class DecodedBody implements BodySink {
  readonly #codings: readonly string[];
  readonly #listener: BodyListener;
  readonly #kept: KeptBody;
  #decoders: Duplex[] = [];
  #encodedBytes = 0;
  #isReleased = false;

  /** @param codings as {@link parseCodings} returns them, at least one */
  constructor(codings: readonly string[], listener: BodyListener, budget: KeptBodies) {
    this.#codings = codings;
    this.#listener = listener;
    this.#kept = new KeptBody(listener, budget);
  }

  write(bytes: Buffer, start: number, end: number): boolean {
    this.#encodedBytes += end - start;
    if (this.#encodedBytes > MAX_ENCODED_BYTES) {
      this.#listener.onBodyEnd(MOSTLY_NOTHING);
      return true;
    }
    if (this.#decoders.length === 0) this.#open(bytes[start] ?? 0);
    return this.#decoders[0]?.write(Buffer.from(bytes.subarray(start, end))) ?? true;
  }

  end(): void {
    if (this.#decoders.length === 0) this.#listener.onBodyEnd(COMPLETE);
    else this.#decoders[0]?.end();
  }

  text(): string {
    return this.#kept.text();
  }

  release(): void {
    this.#isReleased = true;
    for (const decoder of this.#decoders) decoder.destroy();
    this.#kept.release();
  }

  /** Decoders in the order in which bytes pass them: the coding applied last is undone first. */
  #open(firstByte: number): void {
    this.#decoders = this.#codings.toReversed().map((coding, index) => {
      const decoder = DECODERS[coding]?.(index === 0 ? firstByte : ZLIB_FIRST_BYTE);
      if (decoder === undefined) throw new TypeError(`no decoder for ${coding}`);
      decoder.on('error', (error) => this.#failed(coding, error));
      return decoder;
    });
    for (const [index, decoder] of this.#decoders.entries()) {
      const next = this.#decoders[index + 1];
      if (next !== undefined) decoder.pipe(next);
    }
    this.#decoders[0]?.on('drain', () => {
      if (!this.#isReleased) this.#listener.onBodyDrained();
    });
    this.#decoders.at(-1)?.on('data', (bytes: Buffer) => {
      if (!this.#isReleased) this.#kept.write(bytes, 0, bytes.length);
    });
    this.#decoders.at(-1)?.on('end', () => {
      if (!this.#isReleased) this.#kept.end();
    });
  }

  #failed(coding: string, error: Error): void {
    if (this.#isReleased) return;
    const message = `the body cannot be decoded as ${coding}: ${messageOf(error)}`;
    this.#listener.onBodyEnd({ kind: 'undecodable', message });
  }
}

/** No encoder makes its input much longer: more than this for less than 2 MiB is made to keep us busy. */
const MAX_ENCODED_BYTES = 2 * LIMITS.responseBodyBytes;
const MOSTLY_NOTHING: BodyEnd = {
  kind: 'undecodable',
  message: 'the body cannot be decoded: 4 MiB of it hold less than 2 MiB of content',
};

/** Compression method 8: takes an inner `deflate` for zlib, as the RFC has it. */
const ZLIB_FIRST_BYTE = 0x78;
