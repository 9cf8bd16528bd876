import { type Answer, type Expectation, family, HELLO_CHUNKS, OK } from '../answer.ts';

const NOT_A_NUMBER: Expectation = { refused: /Content-Length is not one number/ };
const NOT_UNDERSTOOD: Expectation = { refused: /Transfer-Encoding is not understood/ };

const LENGTHS: readonly [string, (Expectation | string)?][] = [
  ['5', 'hello'],
  ['05', 'hello'],
  ['0000000005', 'hello'],
  [' 5', 'hello'],
  ['5 ', 'hello'],
  ['\t5\t', 'hello'],
  ['5, 5', 'hello'],
  ['5,5', 'hello'],
  ['5\r\nContent-Length: 5', 'hello'],
  ['3', 'hel'],
  ['0', ''],
  ['5, 6'],
  ['6, 5'],
  ['5\r\nContent-Length: 6'],
  ['6\r\nContent-Length: 5'],
  ['5,'],
  [', 5'],
  [''],
  ['+5'],
  ['-5'],
  ['-0'],
  ['0x5'],
  ['5.0'],
  ['5e0'],
  ['five'],
  ['5 hello'],
  ['5;'],
  ['"5"'],
  ['5\x0b'],
  ['\xb2'],
  ['1 0'],
  ['99999999999999999999'],
  ['18446744073709551621'],
];

export const LENGTHS_OF_BODIES = family(
  'Content-Length',
  LENGTHS.map(
    ([value, expected = NOT_A_NUMBER]) =>
      [
        `"${JSON.stringify(value).slice(1, -1)}"`,
        `${OK}Content-Length: ${value}\r\n\r\nhello`,
        expected,
      ] as const,
  ),
);

type Coding = { value: string; isChunked?: boolean; isNone?: boolean };
const CODINGS: readonly Coding[] = [
  { value: 'chunked', isChunked: true },
  { value: 'Chunked', isChunked: true },
  { value: 'CHUNKED', isChunked: true },
  { value: ' chunked ', isChunked: true },
  { value: 'chunked, chunked', isChunked: true },
  { value: 'chunked\r\nTransfer-Encoding: chunked', isChunked: true },
  { value: 'chunked,', isChunked: true },
  { value: ', chunked', isChunked: true },
  { value: 'identity, chunked', isChunked: true },
  { value: 'identity\r\nTransfer-Encoding: chunked', isChunked: true },
  { value: '', isNone: true },
  { value: 'identity', isNone: true },
  { value: ',', isNone: true },
  { value: 'gzip' },
  { value: 'gzip, chunked' },
  { value: 'chunked, gzip' },
  { value: 'chunked, identity', isChunked: true },
  { value: 'xchunked' },
  { value: 'chunked x' },
  { value: 'chunked;q=1' },
  { value: '"chunked"' },
  { value: '\x0bchunked' },
  { value: 'chunked\x0b' },
  { value: 'chun ked' },
];

const LENGTHS_BESIDE: Readonly<Record<string, string>> = {
  'no length': '',
  'a length of 5': 'Content-Length: 5\r\n',
  'a length of 3': 'Content-Length: 3\r\n',
  'lengths that differ': 'Content-Length: 5\r\nContent-Length: 6\r\n',
};

function expectedOf({ isChunked, isNone }: Coding, beside: string): Expectation | string {
  if (isChunked === true) return 'hello';
  if (isNone !== true) return NOT_UNDERSTOOD;
  if (beside === 'lengths that differ') return NOT_A_NUMBER;
  return beside === 'a length of 3' ? 'hel' : 'hello';
}

export const TRANSFER_ENCODINGS: Answer[] = family(
  'Transfer-Encoding',
  ['1.1', '1.0'].flatMap((version) =>
    CODINGS.flatMap((coding) =>
      Object.entries(LENGTHS_BESIDE).map(([beside, lengths]) => {
        const value = JSON.stringify(coding.value).slice(1, -1);
        const head = `HTTP/${version} 200 OK\r\n${lengths}Transfer-Encoding: ${coding.value}\r\n\r\n`;
        const body = coding.isNone === true ? 'hello' : HELLO_CHUNKS;
        return [
          `"${value}", ${beside}, HTTP/${version}`,
          `${head}${body}`,
          expectedOf(coding, beside),
        ] as const;
      }),
    ),
  ),
);
