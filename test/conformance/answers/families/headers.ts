import { type Expectation, family, HELLO_LENGTH, OK, spelled } from '../answer.ts';

const ABOUT_LENGTH: Expectation = { refused: /malformed header line about its length/ };
const NUL: Expectation = { refused: /NUL byte/ };
const rest = `${HELLO_LENGTH}\r\nhello`;

const characters = (codes: readonly number[]): string[] => codes.map((code) => String.fromCharCode(code));
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Neither letters and digits nor those that end a line. */
const IN_NAMES = characters([
  ...range(0, 9),
  ...range(0x0b, 0x0c),
  ...range(0x0e, 0x2f),
  ...range(0x3b, 0x40),
  ...range(0x5b, 0x60),
  ...range(0x7b, 0x80),
  0xa0,
  0xe4,
  0xff,
]);

const IN_VALUES = characters([
  ...range(0, 9),
  0x0b,
  0x0c,
  ...range(0x0e, 0x1f),
  0x22,
  0x3a,
  0x7f,
  0x80,
  0xa0,
  0xff,
]);

const LINES: readonly [string, string, (Expectation | string)?][] = [
  ['without a colon', 'nonsense'],
  ['of a blank', ' '],
  ['of a colon', ':'],
  ['without a name', ': value'],
  ['without a value', 'X:'],
  ['without a blank after the colon', 'X:y'],
  ['with a blank before the colon', 'X : y'],
  ['with a tab before the colon', 'X\t: y'],
  ['with two colons', 'X:: y'],
  ['of HTML', '<html><body>'],
  ['that is a status line', 'HTTP/1.1 200 OK'],
  ['that is a request line', 'GET / HTTP/1.1'],
  ['that is a cookie without colon', 'Set-Cookie a=b'],
  ['of 8 KiB', `X: ${'y'.repeat(8_192)}`],
  ['with a name of 8 KiB', `${'X'.repeat(8_192)}: y`],
  ['folded', 'X: y\r\n z'],
  ['folded by a tab', 'X: y\r\n\tz'],
  ['folded twice', 'X: y\r\n z\r\n z'],
  ['folded into a blank line', 'X: y\r\n \r\nZ: z'],
  ['folded before any header', ' X: y'],
  ['odd and then folded', 'X Y: a\r\n b'],
  ['folded into a length', 'X: y\r\n Content-Length: 6', 'hello'],
  ['that folds a length before any header', ' Content-Length: 6', ABOUT_LENGTH],
  ['odd and then folded into a length', 'X Y: a\r\n Content-Length: 6', ABOUT_LENGTH],
  ['that hides a length behind CR', 'X: y\rContent-Length: 6', ABOUT_LENGTH],
  ['that hides chunks behind CR', 'X: y\rTransfer-Encoding: chunked', ABOUT_LENGTH],
  ['that hides chunks behind NUL', 'X: y\0Transfer-Encoding: chunked', ABOUT_LENGTH],
];

/** Framing headers spelled so that one reader may obey and another skip them. */
const SPELLINGS = [
  '{} : ',
  '{}\t: ',
  ' {}: ',
  '\t{}: ',
  '{}\x0b: ',
  '{}\0: ',
  '\x0b{}: ',
  '({}): ',
  '{};: ',
  '"{}": ',
];
const framing = ['Content-Length', 'Transfer-Encoding'].flatMap((name) =>
  SPELLINGS.map((spelling) => {
    const line = `${spelling.replace('{}', name)}${name === 'Content-Length' ? '5' : 'chunked'}`;
    const expected = /[(;"]/.test(spelling) ? 'hello' : ABOUT_LENGTH;
    return [`line "${spelled(line)}"`, `${OK}${line}\r\n\r\nhello`, expected] as const;
  }),
);

export const HEADERS = family('header lines', [
  ...IN_NAMES.map((character) => {
    return [
      `"${spelled(character)}" in a name`,
      `${OK}X${character}Y: z\r\n${rest}`,
      character === '\0' ? NUL : 'hello',
    ] as const;
  }),
  ...IN_VALUES.map((character) => {
    return [
      `"${spelled(character)}" in a value`,
      `${OK}X: y${character}z\r\n${rest}`,
      character === '\0' ? NUL : 'hello',
    ] as const;
  }),
  ...LINES.map(
    ([name, line, expected = 'hello']) => [`a line ${name}`, `${OK}${line}\r\n${rest}`, expected] as const,
  ),
  ...framing,
]);
