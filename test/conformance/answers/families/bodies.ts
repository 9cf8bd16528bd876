import { type Answer, type Expectation, family, OK } from '../answer.ts';

const FRAMINGS: Readonly<Record<string, string>> = {
  'no framing': '',
  'a length': 'Content-Length: 5\r\n',
  chunks: 'Transfer-Encoding: chunked\r\n',
  'a length and chunks': 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
  'lengths that differ': 'Content-Length: 5\r\nContent-Length: 6\r\n',
  'a length in words': 'Content-Length: five\r\n',
  'an unknown transfer coding': 'Transfer-Encoding: gzip\r\n',
};

function withoutBody(name: string, status: number, method: 'GET' | 'HEAD'): Answer[] {
  return family(
    'no body',
    ['', 'hello'].flatMap((body) =>
      Object.entries(FRAMINGS).map(
        ([framing, header]) =>
          [
            `${name} with ${framing}${body === '' ? '' : ', and bytes after it'}`,
            `HTTP/1.1 ${status} Reason\r\n${header}\r\n${body}`,
            { status, body: '' },
            { method },
          ] as const,
      ),
    ),
  );
}

export const NO_BODIES: Answer[] = [
  ...withoutBody('an answer to HEAD', 200, 'HEAD'),
  ...withoutBody('status 204', 204, 'GET'),
  ...withoutBody('status 304', 304, 'GET'),
];

const AFTER_SOME: Expectation = { refused: /after \d+ of 10 body bytes|reset/ };
const IN_HEAD: Expectation = { refused: /in the middle of the headers|reset/ };
const WITHOUT: Expectation = { refused: /without an answer|reset/ };

const CUTS: readonly [string, string, Expectation][] = [
  ['before the first byte', '', WITHOUT],
  ['in the status line', 'HTTP/1.1 20', IN_HEAD],
  ['after the status line', OK, IN_HEAD],
  ['in a header', `${OK}Content-Le`, IN_HEAD],
  ['after a header', `${OK}Content-Length: 10\r\n`, IN_HEAD],
  ['in the empty line', `${OK}Content-Length: 10\r\n\r`, IN_HEAD],
  ['before the body', `${OK}Content-Length: 10\r\n\r\n`, AFTER_SOME],
  ['in the body', `${OK}Content-Length: 10\r\n\r\nhello`, AFTER_SOME],
  ['before the last byte', `${OK}Content-Length: 10\r\n\r\nhellohell`, AFTER_SOME],
];

export const ENDINGS: Answer[] = [
  ...family(
    'cut off',
    CUTS.flatMap(([name, bytes, expected]) => [
      [`${name}, by a close`, bytes, expected] as const,
      [`${name}, by a reset`, bytes, expected, { end: 'reset' }] as const,
    ]),
  ),
  ...family('cut off', [
    ['a body until the close, by a reset', `${OK}\r\nhello`, { refused: /reset/ }, { end: 'reset' }],
    ['a body until the close', `${OK}\r\nhello`, 'hello'],
    ['an empty body until the close', `${OK}\r\n`, ''],
    ['bytes after the body', `${OK}Content-Length: 5\r\n\r\nhello, world`, 'hello'],
    ['a second response after the body', `${OK}Content-Length: 5\r\n\r\nhello${OK}\r\n`, 'hello'],
    ['no byte of a second line after a length', `${OK}Content-Length: 5\r\n\r\nhello\r\n`, 'hello'],
  ]),
];
