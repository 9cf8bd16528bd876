import { type Expectation, family, OK, spelled } from '../answer.ts';

const NO_SIZE: Expectation = { refused: /is no chunk size/ };
const CUT: Expectation = { refused: /before the last chunk/ };

const SIZES: readonly [string, (Expectation | string)?][] = [
  ['5', 'hello'],
  ['05', 'hello'],
  ['0000000000000005', 'hello'],
  ['00000000000000000005', 'hello'],
  [`${'0'.repeat(100)}5`, 'hello'],
  ['5 ', 'hello'],
  ['5\t', 'hello'],
  ['5          ', 'hello'],
  ['5;', 'hello'],
  ['5;a', 'hello'],
  ['5;a=b', 'hello'],
  ['5;a="b;c"', 'hello'],
  ['5 ; a = b', 'hello'],
  ['5;\xff', 'hello'],
  ['5;\0', 'hello'],
  [`5;${'x'.repeat(1_000)}`, 'hello'],
  [`5;${'x'.repeat(4_000)}`, 'hello'],
  [`5;${'x'.repeat(16_000)}`, { refused: /a line is too long/ }],
  [''],
  [' 5'],
  ['+5'],
  ['-5'],
  ['0x5'],
  ['five'],
  ['5h'],
  ['5 5'],
  ['5,'],
  ['5\x0b'],
  ['5.'],
  ['\0'],
  ['5\0'],
  ['100000000000000000005'],
  ['fffffffffffffffff'],
];

const TRAILERS: readonly [string, (Expectation | string)?][] = [
  ['X: y\r\n', 'hello'],
  ['X: y\r\nZ: z\r\n', 'hello'],
  ['nonsense\r\n', 'hello'],
  ['X Y: z\r\n', 'hello'],
  [': y\r\n', 'hello'],
  [' folded\r\n', 'hello'],
  ['Content-Length: 3\r\n', 'hello'],
  ['Transfer-Encoding: chunked\r\n', 'hello'],
  ['X: \0\r\n', 'hello'],
  ['X: y\n', 'hello'],
];

const BODIES: readonly [string, string, Expectation | string][] = [
  ['two chunks', '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n', 'hello'],
  ['a chunk for each byte', `${[...'hello'].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`, 'hello'],
  ['nothing but the last chunk', '0\r\n\r\n', ''],
  ['a last chunk of many zeros', `5\r\nhello\r\n${'0'.repeat(20)}\r\n\r\n`, 'hello'],
  ['a last chunk with an extension', '5\r\nhello\r\n0;a=b\r\n\r\n', 'hello'],
  ['bytes after the end', '5\r\nhello\r\n0\r\n\r\nmore', 'hello'],
  ['a chunk longer than its size', '3\r\nhello\r\n0\r\n\r\n', { refused: /longer than its size/ }],
  ['a chunk shorter than its size', '7\r\nhello\r\n0\r\n\r\n', { refused: /malformed|before the last/ }],
  ['no line end after the data', '5\r\nhello0\r\n\r\n', { refused: /longer than its size/ }],
  ['two line ends after the data', '5\r\nhello\r\n\r\n0\r\n\r\n', NO_SIZE],
  ['an upper-case size', 'A\r\nhellohello\r\n0\r\n\r\n', 'hellohello'],
  ['no chunks at all', 'hello', CUT],
  ['no chunks but a line', 'hello\r\n', NO_SIZE],
  ['nothing', '', CUT],
  ['half a size', '5', CUT],
  ['half a chunk', '5\r\nhel', CUT],
  ['no line end after the last data', '5\r\nhello', CUT],
  ['no last chunk', '5\r\nhello\r\n', CUT],
  ['half a last chunk', '5\r\nhello\r\n0', CUT],
  ['no end of the trailers', '5\r\nhello\r\n0\r\n', CUT],
  ['half an end of the trailers', '5\r\nhello\r\n0\r\n\r', CUT],
  ['a trailer without end', '5\r\nhello\r\n0\r\nX: y\r\n', CUT],
];

const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

export const CHUNKS = family('chunks', [
  ...SIZES.map(
    ([size, expected = NO_SIZE]) =>
      [
        `size "${spelled(size.slice(0, 40))}" of ${size.length} bytes`,
        `${CHUNKED}${size}\r\nhello\r\n0\r\n\r\n`,
        expected,
      ] as const,
  ),
  ...TRAILERS.map(
    ([trailers, expected = NO_SIZE]) =>
      [`trailers "${spelled(trailers)}"`, `${CHUNKED}5\r\nhello\r\n0\r\n${trailers}\r\n`, expected] as const,
  ),
  ...BODIES.map(([name, body, expected]) => [name, `${CHUNKED}${body}`, expected] as const),
]);
