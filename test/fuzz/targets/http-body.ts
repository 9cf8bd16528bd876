import { deepEqual } from 'node:assert/strict';
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { BodyEnd } from '@svc/agent/probes/http/body.ts';
import { DecodedBody, parseCodings } from '@svc/agent/probes/http/decoded-body.ts';
import { KeptBodies } from '@svc/agent/probes/http/kept-bodies.ts';
import { Semaphore } from '@svc/agent/probes/http/semaphore.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { inPieces } from '../pieces.ts';
import { type FuzzTarget, latin1, never } from '../target.ts';

const TEXTS = ['', 'hello', 'ü😀'.repeat(100), 'x'.repeat(3 * 1_024 * 1_024)].map((text) =>
  Buffer.from(text),
);

/** The first line of an input is its `Content-Encoding`. */
const ENCODERS: readonly (readonly [coding: string, encode: (content: Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', (content) => zstdCompressSync(content)],
  ['gzip, br', (content) => brotliCompressSync(gzipSync(content))],
  ['deflate, gzip', (content) => gzipSync(deflateSync(content))],
  ['gzip', (content) => Buffer.concat([gzipSync(content), gzipSync(content), latin1('tail')])],
];

/** The bytes that zlib decodes, if it accepts the whole input. */
const DECODERS: Readonly<Record<string, (encoded: Buffer) => Buffer>> = {
  gzip: (encoded) => gunzipSync(encoded, { maxOutputLength: LIMITS.responseBodyBytes }),
  deflate: (encoded) => inflateSync(encoded, { maxOutputLength: LIMITS.responseBodyBytes }),
  br: (encoded) => brotliDecompressSync(encoded, { maxOutputLength: LIMITS.responseBodyBytes }),
  zstd: (encoded) => zstdDecompressSync(encoded, { maxOutputLength: LIMITS.responseBodyBytes }),
};

type Decoded = { end: BodyEnd; text: string };

async function decoded(codings: readonly string[], pieces: readonly Buffer[]): Promise<Decoded> {
  const { promise, resolve } = Promise.withResolvers<Decoded>();
  const memory = new KeptBodies();
  let isFull = false;
  const body = new DecodedBody(
    codings,
    {
      onBodyFull() {
        isFull = true;
      },
      onBodyEnd: (end) => {
        const text = body.bytes().toString();
        body.release();
        resolve({ end, text });
      },
    },
    memory,
    new Semaphore(1),
  );
  for (const piece of pieces) if (!isFull) body.write(piece, 0, piece.length);
  if (!isFull) body.end();
  return await promise;
}

function parts(input: Buffer): { codings: string[]; encoded: Buffer } {
  const end = input.indexOf('\n');
  return {
    codings: parseCodings(input.toString('latin1', 0, Math.max(0, end))),
    encoded: input.subarray(end + 1),
  };
}

export const HTTP_BODY: FuzzTarget = {
  name: 'http-body',
  corpus: ENCODERS.flatMap(([coding, encode]) =>
    TEXTS.map((text) => Buffer.concat([latin1(`${coding}\n`), encode(text)])),
  ),
  words: ['gzip', 'br', 'zstd', 'deflate', 'identity', ',', '\x1f\x8b\x08', '\x28\xb5\x2f\xfd'],
  parse: parts,
  isRefusal: never,
  async check(input, random) {
    const { codings, encoded } = parts(input);
    if (codings.length === 0) return;
    const whole = await decoded(codings, [encoded]);
    const pieces = inPieces(encoded, random).next().value ?? [];
    deepEqual(told(codings, await decoded(codings, pieces)), told(codings, whole), 'other pieces');
    const content = codings.length === 1 ? contentOf(codings[0] as string, encoded) : null;
    if (content === null) return;
    const text = content.toString('utf8').replace(/^\ufeff/, '');
    deepEqual(whole, { end: { kind: 'complete' }, text }, 'what zlib decodes');
  },
};

/** When both of two decoders find a fault, the faster one reports it, with the bytes decoded until then. */
function told(codings: readonly string[], { end, text }: Decoded): unknown {
  return codings.length > 1 && end.kind === 'undecodable' ? end.kind : { end, text };
}

/** Null: zlib does not accept the whole input, or it is too long. */
function contentOf(coding: string, encoded: Buffer): Buffer | null {
  if (encoded.length === 0) return null;
  try {
    return DECODERS[coding]?.(encoded) ?? null;
  } catch {
    return null; // It is broken, cut short, or longer than the kept part.
  }
}
