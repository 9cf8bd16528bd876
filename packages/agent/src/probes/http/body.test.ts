import { LIMITS } from '@svc/shared/limits.ts';
import { expect, test } from 'vitest';
import { type BodyEnd, type BodySink, CountedBody, KeptBody } from './body.ts';
import { KeptBodies } from './kept-bodies.ts';
import { ResponseParser } from './response-parser.ts';

const chunk = (size: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
const TOO_LONG = Buffer.from(
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(LIMITS.responseBodyBytes)}${chunk(1).repeat(5_000)}0\r\n\r\n`,
);

test.each(['kept', 'counted'])('a %s body that is too long ends once, however many chunks follow', (kind) => {
  const ends: BodyEnd[] = [];
  const keptBodies = new KeptBodies();
  const listener = { onBodyFull: () => parser.stop(), onBodyEnd: (end: BodyEnd) => void ends.push(end) };
  const body: BodySink = kind === 'kept' ? new KeptBody(listener, keptBodies) : new CountedBody(listener);
  const parser = new ResponseParser(
    'GET',
    {
      onHead: () => {},
      onBody: (bytes, start, end) => body.write(bytes, start, end),
      onComplete: () => body.end(),
    },
    keptBodies,
  );
  parser.push(TOO_LONG);
  expect(ends).toEqual([{ kind: 'truncated' }]);
  body.release();
});
