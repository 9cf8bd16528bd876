import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Answer, type Expectation, family, OK } from '../answer.ts';

const latin1 = (bytes: Buffer): string => bytes.toString('latin1');
const GZIP = latin1(gzipSync('hello'));
const BODIES: Readonly<Record<string, string>> = {
  gzip: GZIP,
  'x-gzip': GZIP,
  deflate: latin1(deflateSync('hello')),
  br: latin1(brotliCompressSync('hello')),
  zstd: latin1(zstdCompressSync('hello')),
};
const undecodable = (coding: string): Expectation => ({
  refused: new RegExp(`cannot be decoded as ${coding}`),
});

const AFTER = ['\0\0\0\0', '\r\n', 'garbage', '<!-- cached -->', 'x'.repeat(10_000)];

const OTHERS: readonly [name: string, coding: string, body: string, Expectation | string][] = [
  ['deflate without its wrapping', 'deflate', latin1(deflateRawSync('hello')), 'hello'],
  ['gzip twice', 'gzip, gzip', latin1(gzipSync(gzipSync('hello'))), 'hello'],
  [
    'gzip twice, on two lines',
    'gzip\r\nContent-Encoding: gzip',
    latin1(gzipSync(gzipSync('hello'))),
    'hello',
  ],
  ['br over gzip', 'gzip, br', latin1(brotliCompressSync(gzipSync('hello'))), 'hello'],
  ['two members of gzip', 'gzip', GZIP + GZIP, 'hellohello'],
  ['gzip and the first byte of another member', 'gzip', `${GZIP}\x1f`, undecodable('gzip')],
  ['gzip and half a member', 'gzip', GZIP + GZIP.slice(0, 12), undecodable('gzip')],
  ['gzip in capitals', 'GZIP', GZIP, 'hello'],
  ['no coding named', '', 'hello', 'hello'],
  ['identity', 'identity', 'hello', 'hello'],
  ['identity and gzip', 'identity, gzip', GZIP, 'hello'],
  ['gzip and a comma', 'gzip,', GZIP, 'hello'],
  ['gzip that is none', 'gzip', 'hello', undecodable('gzip')],
  ['brotli that is none', 'br', 'hello hello hello', undecodable('br')],
  ['zstd that is none', 'zstd', 'hello', undecodable('zstd')],
  ['deflate that is none', 'deflate', 'hello', undecodable('deflate')],
  ['nothing, said to be gzip', 'gzip', '', ''],
  ['nothing, said to be br', 'br', '', ''],
  ...[
    'sdch',
    'none',
    'utf-8',
    'compress',
    'binary',
    'aws-chunked',
    'gzip; q=1',
    'sdch, gzip',
    'gzip, sdch',
  ].map((coding): [string, string, string, string] => [`an unknown "${coding}"`, coding, 'hello', 'hello']),
];

export const CODINGS: Answer[] = family('Content-Encoding', [
  ...Object.entries(BODIES).flatMap(([coding, body]) => [
    [coding, `${OK}Content-Encoding: ${coding}\r\n\r\n${body}`, 'hello'] as const,
    [
      `${coding}, cut off`,
      `${OK}Content-Encoding: ${coding}\r\n\r\n${body.slice(0, -4)}`,
      undecodable(coding),
    ] as const,
  ]),
  ...AFTER.map(
    (bytes) =>
      [
        `${bytes.length} bytes after gzip: ${JSON.stringify(bytes.slice(0, 20)).slice(1, -1)}`,
        `${OK}Content-Encoding: gzip\r\n\r\n${GZIP}${bytes}`,
        'hello',
      ] as const,
  ),
  ...OTHERS.map(
    ([name, coding, body, expected]) =>
      [name, `${OK}Content-Encoding: ${coding}\r\n\r\n${body}`, expected] as const,
  ),
]);
