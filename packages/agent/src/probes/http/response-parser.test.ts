import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CORPUS } from '../../../../../test/conformance/answers/corpus.ts';
import { MALFORMED, ODD_BUT_GOOD } from '../../../../../test/support/hostile-http.ts';
import { threadCpu } from '../../../../../test/support/thread-cpu.ts';
import { KeptBodies } from './kept-bodies.ts';
import { MAX_HEAD_BYTES, MAX_HEAD_LINES, ResponseError } from './response-head.ts';
import { type ResponseListener, ResponseParser } from './response-parser.ts';

type Reading = {
  statusCode?: number;
  headers?: [string, string][];
  body: string;
  isComplete: boolean;
  error?: string;
};

/** Gives these pieces to a parser, then closes the connection, and returns the parser's findings. */
function read(pieces: readonly Buffer[], method: 'GET' | 'HEAD' = 'GET'): Reading {
  const reading: Reading = { body: '', isComplete: false };
  const keptBodies = new KeptBodies();
  const { freeBytes } = keptBodies;
  const listener: ResponseListener = {
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
  };
  const parser = new ResponseParser(method, listener, keptBodies);
  try {
    for (const piece of pieces) parser.push(piece);
    parser.end();
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    reading.error = error.message;
  }
  parser.stop();
  expect(keptBodies.freeBytes).toBe(freeBytes);
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

const KNOWN = [
  ...Object.values(ODD_BUT_GOOD),
  ...Object.values(MALFORMED).map(({ bytes }) => bytes),
  ...CORPUS.map(({ bytes }) => bytes),
]
  .filter((bytes) => bytes.length < 4_096)
  .map((bytes) => Buffer.from(bytes, 'latin1'));

describe('however a response is cut into pieces', () => {
  test('it reads the same', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KNOWN), fc.array(fc.nat(), { maxLength: 20 }), (bytes, places) => {
        const whole = read([bytes]);
        const pieces = read(cut(bytes, places));
        // The parser refuses bytes that are not HTTP before it has all of them, so the quote may be shorter.
        const said = ({ error }: Reading) => error?.replace(/^(the answer is not HTTP).*/s, '$1');
        expect({ ...pieces, error: said(pieces) }).toEqual({ ...whole, error: said(whole) });
      }),
      { numRuns: 500 },
    );
  });

  test.each(Object.entries(ODD_BUT_GOOD))('byte by byte: %s', (_name, text) => {
    const bytes = Buffer.from(text, 'latin1');
    const reading = read(Array.from(bytes, (byte) => Buffer.from([byte])));
    expect(reading).toMatchObject({ statusCode: 200, body: 'hello', isComplete: true });
    expect(reading.error).toBeUndefined();
  });
});

test.each([
  // A head that ends in lone line feeds. The body begins with an empty line that ends in CR and LF.
  ['HTTP/1.1 200 OK\n\n\r\n', { statusCode: 200, body: '\r\n' }],
  ['HTTP/1.1 200 OK\nA: b\n\n\r\n\r\n', { statusCode: 200, body: '\r\n\r\n' }],
  ['\n\n', { error: 'the answer is not HTTP/1.x: "' }],
  ['HT\r\n\r\n', { error: 'the answer is not HTTP/1.x: "HT' }],
])('whole and byte by byte alike: %j', (text, expected) => {
  const bytes = Buffer.from(text);
  for (const places of [[], [...bytes.keys()]]) {
    const { error, statusCode, body } = read(cut(bytes, places));
    if ('error' in expected) expect(error).toContain(expected.error);
    else expect({ statusCode, body }).toEqual(expected);
  }
});

test('any bytes at all are a response or a ResponseError', () => {
  const part = fc.oneof(
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        'HTTP/1.1 200 OK\r\n',
        'Content-Length: 3\r\n',
        'Transfer-Encoding: chunked\r\n',
        'HTTP/1.1 200 OK\n',
        'Location: x',
        'X Y: z',
        ' folded',
        '\r',
        '\n',
        '\0',
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
    { numRuns: 500 },
  );
});

test('known answers with bytes put in, taken out or changed are a response or a ResponseError', () => {
  const change = fc.record({ at: fc.nat(), removed: fc.nat(3), put: fc.uint8Array({ maxLength: 3 }) });
  fc.assert(
    fc.property(
      fc.constantFrom(...KNOWN),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      (known, changes) => {
        const bytes = changes.reduce((before, { at, removed, put }) => {
          const place = at % (before.length + 1);
          return Buffer.concat([before.subarray(0, place), put, before.subarray(place + removed)]);
        }, known);
        const reading = read([bytes]);
        expect(reading.isComplete).toBe(reading.error === undefined);
      },
    ),
    { numRuns: 500 },
  );
});

describe('the bounds of a head', () => {
  const start = 'HTTP/1.1 200 OK\r\n';
  const end = '\r\n';

  test('the largest number of lines is accepted, one more is refused', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: MAX_HEAD_LINES - 20, max: MAX_HEAD_LINES + 20 }),
        fc.boolean(),
        (count, isOdd) => {
          const line = isOdd ? 'odd\r\n' : 'A: b\r\n';
          const { error } = read([Buffer.from(`${start}${line.repeat(count)}${end}`)]);
          expect(error !== undefined).toBe(count > MAX_HEAD_LINES);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('the largest number of bytes is accepted and one more is refused, interim responses included', () => {
    const interim = 'HTTP/1.1 103 Hints\r\n\r\n';
    fc.assert(
      fc.property(
        fc.integer({ min: -20, max: 20 }),
        fc.nat(5),
        fc.array(fc.nat(), { maxLength: 5 }),
        (beyond, hints, places) => {
          const others = `${interim.repeat(hints)}${start}A: ${end}${end}`.length;
          const line = `A: ${'b'.repeat(MAX_HEAD_BYTES + beyond - others)}${end}`;
          const bytes = Buffer.from(`${interim.repeat(hints)}${start}${line}${end}`);
          const { error } = read(cut(bytes, places));
          expect(error).toEqual(beyond > 0 ? "the answer's headers are longer than 256 KiB" : undefined);
        },
      ),
      { numRuns: 50 },
    );
  });

  test.each([
    ['carriage returns', '\r'],
    ['blanks', ' '],
    ['NULs', '\0'],
    ['carriage returns and blanks', '\r '],
    ['line feeds and blanks', '\n '],
    ['names that frame', 'Content-Length'],
    ['commas', ','],
  ])('a line of %s takes no time', (_name, piece) => {
    const cpuMs = threadCpu();
    for (const before of ['odd line ', 'X: ', 'Set-Cookie: ', 'Transfer-Encoding: ', 'Content-Length: ']) {
      read([Buffer.from(`${start}${before}${piece.repeat(250_000 / piece.length)}x${end}${end}`)]);
    }
    // This bound is generous. Each case takes milliseconds, while a search from each byte would take minutes.
    expect(cpuMs()).toBeLessThan(5_000);
  });

  test('a head without end is read no further than that', () => {
    const keptBodies = new KeptBodies();
    const { freeBytes } = keptBodies;
    const parser = new ResponseParser('GET', { onHead() {}, onBody() {}, onComplete() {} }, keptBodies);
    parser.push(Buffer.from(start));
    const piece = Buffer.alloc(1_000, 'a');
    let pushed = start.length;
    expect(() => {
      for (;;) {
        parser.push(piece);
        pushed += piece.length;
        expect(freeBytes - keptBodies.freeBytes).toBeLessThanOrEqual(MAX_HEAD_BYTES + 1);
      }
    }).toThrow(ResponseError);
    expect(pushed).toBeLessThanOrEqual(MAX_HEAD_BYTES);
  });
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

test('a stopped parser reports nothing more', () => {
  let bodies = 0;
  const listener: ResponseListener = {
    onHead: () => parser.stop(),
    onBody: () => {
      bodies += 1;
    },
    onComplete: () => {
      bodies += 1;
    },
  };
  const parser = new ResponseParser('GET', listener, new KeptBodies());
  parser.push(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc'));
  parser.end();
  expect(bodies).toBe(0);
});
