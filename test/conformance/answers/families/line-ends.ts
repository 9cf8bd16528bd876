import { type Expectation, family, OK, spelled } from '../answer.ts';

const ENDS = ['\r\n', '\n'] as const;
const BODIES: Readonly<Record<string, readonly [header: string, body: string]>> = {
  length: ['Content-Length: 5', 'hello'],
  chunks: ['Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n'],
  close: ['X: y', 'hello'],
};

/** Every choice of CRLF or LF after the status line, the header and the empty line. */
const heads = Object.entries(BODIES).flatMap(([kind, [header, body]]) =>
  ENDS.flatMap((first) =>
    ENDS.flatMap((second) =>
      ENDS.map(
        (third) =>
          [
            `head with ${[first, second, third].map(spelled).join(' ')}, body by ${kind}`,
            `HTTP/1.1 200 OK${first}${header}${second}${third}${body}`,
            'hello',
          ] as const,
      ),
    ),
  ),
);

/** Every choice after the size, the data, the last chunk's size and the trailers. */
const chunks = ENDS.flatMap((size) =>
  ENDS.flatMap((data) =>
    ENDS.flatMap((last) =>
      ENDS.map(
        (trailers) =>
          [
            `chunks with ${[size, data, last, trailers].map(spelled).join(' ')}`,
            `${OK}Transfer-Encoding: chunked\r\n\r\n5${size}hello${data}0${last}${trailers}`,
            'hello',
          ] as const,
      ),
    ),
  ),
);

const MALFORMED: Expectation = { refused: /malformed|in the middle of the headers/ };

export const LINE_ENDS = family('line ends', [
  ...heads,
  ...chunks,
  ['\\r\\r\\n after the status line', 'HTTP/1.1 200 OK\r\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
  ['\\r\\r\\n after a header', `${OK}X: y\r\r\nContent-Length: 5\r\n\r\nhello`, 'hello'],
  ['\\r\\r\\n after the length', `${OK}Content-Length: 5\r\r\n\r\nhello`, 'hello'],
  ['\\r alone after a header', `${OK}X: y\rZ: z\r\nContent-Length: 5\r\n\r\nhello`, 'hello'],
  ['\\r alone before the length', `${OK}X: y\rContent-Length: 5\r\n\r\nhello`, MALFORMED],
  ['\\r alone everywhere', 'HTTP/1.1 200 OK\rContent-Length: 5\r\rhello', MALFORMED],
  ['\\n\\r after a header', `${OK}Content-Length: 5\n\r\r\nhello`, MALFORMED],
  [
    'a chunk size that ends with \\r alone',
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\rhello\r\n0\r\n\r\n`,
    MALFORMED,
  ],
  [
    'a chunk size that ends with \\r\\r\\n',
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\r\nhello\r\n0\r\n\r\n`,
    MALFORMED,
  ],
]);
