import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MALFORMED, ODD_BUT_GOOD } from '../../../../../test/support/hostile-http.ts';
import { ResponseError } from './response-error.ts';
import { ResponseParser } from './response-parser.ts';

type Reading = {
  statusCode?: number;
  headers?: [string, string][];
  body: string;
  isComplete: boolean;
  error?: string;
};

/** What the parser makes of these pieces, the connection closed after the last. */
function read(pieces: readonly Buffer[], method: 'GET' | 'HEAD' = 'GET'): Reading {
  const reading: Reading = { body: '', isComplete: false };
  const parser = new ResponseParser(method, {
    onHead(head) {
      reading.statusCode = head.statusCode;
      reading.headers = [...head.headers];
    },
    onBody(bytes, start, end) {
      reading.body += bytes.toString('latin1', start, end);
    },
    onComplete() {
      expect(reading.isComplete).toBe(false);
      reading.isComplete = true;
    },
  });
  try {
    for (const piece of pieces) parser.push(piece);
    parser.end();
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    reading.error = error.message;
  }
  return reading;
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const borders = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return borders.slice(1).map((end, index) => bytes.subarray(borders[index], end));
}

const KNOWN = [...Object.values(ODD_BUT_GOOD), ...Object.values(MALFORMED).map(({ bytes }) => bytes)]
  .filter((bytes) => bytes.length < 4_096)
  .map((bytes) => Buffer.from(bytes, 'latin1'));

describe('however a response is cut into pieces', () => {
  test('it reads the same', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KNOWN), fc.array(fc.nat(), { maxLength: 20 }), (bytes, places) => {
        const whole = read([bytes]);
        const pieces = read(cut(bytes, places));
        // A malformed start is refused before all of it is there, so only the fact is compared.
        expect({ ...pieces, error: pieces.error !== undefined }).toEqual({
          ...whole,
          error: whole.error !== undefined,
        });
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(Object.entries(ODD_BUT_GOOD))('byte by byte: %s', (_name, text) => {
    const bytes = Buffer.from(text, 'latin1');
    const reading = read(Array.from(bytes, (byte) => Buffer.from([byte])));
    expect(reading).toMatchObject({ statusCode: 200, body: 'hello', isComplete: true });
    expect(reading.error).toBeUndefined();
  });
});

test('any bytes at all are a response or a ResponseError', () => {
  const part = fc.oneof(
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        'HTTP/1.1 200 OK\r\n',
        'Content-Length: 3\r\n',
        'Transfer-Encoding: chunked\r\n',
        '\r\n',
        '3\r\n',
        'abc',
        '0\r\n\r\n',
        ': ',
      )
      .map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const reading = read(parts);
      expect(reading.isComplete).toBe(reading.error === undefined);
    }),
    { numRuns: 2_000 },
  );
});

test('any body in any chunks comes out as it went in', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 10 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      (chunks, places) => {
        const body = Buffer.concat(chunks).toString('latin1');
        const framed = chunks.flatMap((chunk) => [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n']);
        const bytes = Buffer.concat(
          ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', ...framed, '0\r\n\r\n'].map((part) =>
            Buffer.from(part),
          ),
        );
        expect(read(cut(bytes, places))).toMatchObject({ body, isComplete: true });
      },
    ),
  );
});

test.each(['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', ''])(
  'HEAD has no body: %j',
  (framing) => {
    const reading = read([Buffer.from(`HTTP/1.1 200 OK\r\n${framing}\r\n`)], 'HEAD');
    expect(reading).toMatchObject({ statusCode: 200, body: '', isComplete: true });
  },
);

test('headers: case is ignored, several are joined, blanks around values go', () => {
  const { headers } = read([
    Buffer.from('HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nX:  y \t\r\nset-cookie:b\r\nE:\r\n\r\n'),
  ]);
  expect(headers).toEqual([
    ['set-cookie', 'a, b'],
    ['x', 'y'],
    ['e', ''],
  ]);
});

test('a stopped parser tells nothing more', () => {
  let bodies = 0;
  const parser: ResponseParser = new ResponseParser('GET', {
    onHead: () => parser.stop(),
    onBody: () => {
      bodies += 1;
    },
    onComplete: () => {
      bodies += 1;
    },
  });
  parser.push(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc'));
  parser.end();
  expect(bodies).toBe(0);
});
