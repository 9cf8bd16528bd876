import { type Answer, type Expectation, family, HELLO_LENGTH } from '../answer.ts';

const HELLO = `HTTP/1.1 200 OK\r\n${HELLO_LENGTH}\r\nhello`;
const next = { others: { next: HELLO } };

const STATUSES: Answer[] = family('redirects', [
  ...[301, 302, 303, 307, 308].map(
    (status) =>
      [`status ${status}`, `HTTP/1.1 ${status} Moved\r\nLocation: next\r\n\r\n`, 'hello', next] as const,
  ),
  ...[300, 304, 305, 306, 309].map(
    (status) =>
      [
        `status ${status} with a Location`,
        `HTTP/1.1 ${status} Odd\r\nLocation: next\r\nContent-Length: 0\r\n\r\n`,
        { status, body: '' },
        next,
      ] as const,
  ),
]);

const NO_URL: Expectation = { refused: /not a URL/ };
const UNCHANGED: Expectation = { status: 302, body: '' };

const LOCATIONS: readonly [string, (Expectation | string)?][] = [
  ['Location: next'],
  ['Location: ./next'],
  ['Location:next'],
  ['Location:   next   '],
  ['location: next'],
  ['LOCATION: next'],
  ['Location: next#fragment'],
  ['Location: ne\r\n xt'],
  ['Location: next\r\nLocation: next'],
  ['Location: next\r\nLocation: next\r\nLocation: next'],
  ['Location: next\r\nLocation: other', { refused: /several Location headers/ }],
  ['Location: next\r\nContent-Location: other'],
  ['Location:', UNCHANGED],
  ['Location:  ', UNCHANGED],
  ['X: y', UNCHANGED],
  ['Location : next', UNCHANGED],
  ['Location next', UNCHANGED],
  ['Location: http://[', NO_URL],
  ['Location: http://', NO_URL],
  ['Location: http:next'],
  ['Location: ftp://127.0.0.1/', { refused: /a ftp: URL/ }],
  ['Location: file:///etc/hostname', { refused: /a file: URL/ }],
  ['Location: data:text/plain,hello', { refused: /a data: URL/ }],
  ['Location: javascript:1', { refused: /a javascript: URL/ }],
  ['Location: about:blank', { refused: /a about: URL/ }],
];

const BODIES: readonly [string, string][] = [
  ['a length that is cut off', 'Content-Length: 100\r\n\r\nhel'],
  ['a length in words', 'Content-Length: five\r\n\r\nhello'],
  ['lengths that differ', 'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
  ['chunks that are none', 'Transfer-Encoding: chunked\r\n\r\nhello'],
  ['an unknown transfer coding', 'Transfer-Encoding: gzip\r\n\r\nhello'],
  ['both framings', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['gzip that is none', 'Content-Encoding: gzip\r\n\r\nhello'],
];

export const REDIRECTS: Answer[] = [
  ...STATUSES,
  ...family('redirects', [
    ...LOCATIONS.map(
      ([lines, expected = 'hello']) =>
        [
          JSON.stringify(lines).slice(1, -1),
          `HTTP/1.1 302 Found\r\n${lines}\r\nContent-Length: 0\r\n\r\n`,
          expected,
          { others: { next: HELLO, 'ne%20xt': HELLO } },
        ] as const,
    ),
    ...BODIES.map(
      ([name, bytes]) =>
        [`with ${name}`, `HTTP/1.1 302 Found\r\nLocation: next\r\n${bytes}`, 'hello', next] as const,
    ),
  ]),
];

/** What comes back as `Cookie`, as the body. */
const ECHO = 'HTTP/1.1 200 OK\r\n\r\n{cookie}';

const COOKIES: readonly [name: string, lines: string, sent: string][] = [
  ['none', 'X: y', ''],
  ['one', 'Set-Cookie: a=b', 'a=b'],
  ['two', 'Set-Cookie: a=b\r\nSet-Cookie: c=d', 'a=b; c=d'],
  ['one twice, the last wins', 'Set-Cookie: a=b\r\nSet-Cookie: a=c', 'a=c'],
  ['attributes', 'Set-Cookie: a=b; HttpOnly; SameSite=Lax', 'a=b'],
  ['blanks', 'Set-Cookie:   a = b  ; Path = /', 'a=b'],
  ['a value in quotes', 'Set-Cookie: a="b c"', 'a="b c"'],
  ['a value with =', 'Set-Cookie: a=b=c', 'a=b=c'],
  ['no value', 'Set-Cookie: a=', 'a='],
  ['no name', 'Set-Cookie: =b', 'b'],
  ['no =', 'Set-Cookie: b', 'b'],
  ['nothing', 'Set-Cookie: ', ''],
  ['no =, and one with a name', 'Set-Cookie: b\r\nSet-Cookie: c=d', 'b; c=d'],
  ['the root as path', 'Set-Cookie: a=b; Path=/', 'a=b'],
  ['another path', 'Set-Cookie: a=b; Path=/elsewhere', ''],
  ['a path that is none', 'Set-Cookie: a=b; Path=x', 'a=b'],
  ['another domain', 'Set-Cookie: a=b; Domain=example.com', ''],
  ['its own address as domain', 'Set-Cookie: a=b; Domain=127.0.0.1', 'a=b'],
  ['secure, over plain HTTP', 'Set-Cookie: a=b; Secure; Path=/', ''],
  ['a life of an hour', 'Set-Cookie: a=b; Max-Age=3600', 'a=b'],
  ['no life', 'Set-Cookie: a=b; Max-Age=0', ''],
  ['a life that is over', 'Set-Cookie: a=b; Max-Age=-1', ''],
  ['an age in words', 'Set-Cookie: a=b; Max-Age=long', 'a=b'],
  ['a date in the past', 'Set-Cookie: a=b; Expires=Thu, 01 Jan 1970 00:00:01 GMT', ''],
  ['a date in the future', 'Set-Cookie: a=b; Expires=Fri, 31 Dec 2066 23:59:59 GMT', 'a=b'],
  ['a date that is none', 'Set-Cookie: a=b; Expires=later', 'a=b'],
  ['one taken back', 'Set-Cookie: a=b\r\nSet-Cookie: a=; Max-Age=0', ''],
  ['an attribute in capitals', 'set-cookie: a=b; PATH=/elsewhere', ''],
  ['UTF-8', 'Set-Cookie: a=\xc3\xa9', 'a=\xc3\xa9'],
  ['a control character', 'Set-Cookie: a=\x01', ''],
  ['5,000 bytes', `Set-Cookie: a=${'b'.repeat(5_000)}\r\nSet-Cookie: c=d`, 'c=d'],
  ['4,000 bytes', `Set-Cookie: a=${'b'.repeat(4_000)}`, `a=${'b'.repeat(4_000)}`],
];

export const COOKIE_ANSWERS: Answer[] = family(
  'cookies of a redirect',
  COOKIES.map(
    ([name, lines, sent]) =>
      [
        name,
        `HTTP/1.1 302 Found\r\nLocation: next\r\n${lines}\r\nContent-Length: 0\r\n\r\n`,
        sent,
        { others: { next: ECHO } },
      ] as const,
  ),
);
