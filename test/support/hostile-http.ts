import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { answer, type Behaviour, drip, flood, sendAndReset } from './raw-target.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Targets that never finish. A client without bounds waits or grows for ever. */
export const ENDLESS = {
  'never answers': () => {},
  'sends a header section one byte at a time': drip('HTTP/1.1 200 OK\r\nX: ', 'a', 20),
  'sends a body one byte at a time': drip(`${OK}Content-Length: 1000000\r\n\r\n`, 'a', 20),
  'sends a chunked body one byte at a time': drip(CHUNKED, '1\r\na\r\n', 20),
  'sends nothing after the headers': drip(`${OK}Content-Length: 10\r\n\r\n`, '', 1_000),
  'stops in the middle of a chunk size': drip(`${CHUNKED}1`, '', 1_000),
} as const satisfies Record<string, Behaviour>;

/** Targets that send, without end and as fast as they can, bytes that must be refused. */
export const FLOODS = {
  'one endless header': flood(`${OK}X: `, 'a'.repeat(1_024)),
  'header lines without end': flood(OK, 'X-Header: value\r\n'),
  'interim responses without end': flood('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
  'an endless chunk-size line': flood(CHUNKED, '0'.repeat(1_024)),
  'chunks of one byte with long extensions': flood(CHUNKED, `1;${'x'.repeat(1_000)}\r\na\r\n`),
  'chunks of one byte without end': flood(CHUNKED, '1\r\na\r\n'),
  'trailers without end': flood(`${CHUNKED}0\r\n`, 'X-Trailer: value\r\n'),
  'bytes that are no HTTP': flood('', Buffer.alloc(1_024)),
} as const satisfies Record<string, Behaviour>;

/** Targets whose well-formed body has no end. */
export const ENDLESS_BODIES = {
  'until the connection closes': flood(`${OK}\r\n`, 'a'.repeat(1_024)),
  'in chunks': flood(CHUNKED, `400\r\n${'a'.repeat(1_024)}\r\n`),
  'of a terabyte': flood(`${OK}Content-Length: 1099511627776\r\n\r\n`, 'a'.repeat(1_024)),
} as const satisfies Record<string, Behaviour>;

/** Answers that must not count as a response, with the text that a message about each should contain. */
export const MALFORMED: Readonly<Record<string, { bytes: string; says: RegExp }>> = {
  'closes without a byte': { bytes: '', says: /without an answer/ },
  'another protocol': { bytes: 'SSH-2.0-OpenSSH_9.6\r\n', says: /not HTTP.*SSH-2\.0/ },
  'half a head': { bytes: 'HTTP/1.1 200 OK\r\nX: y\r\n', says: /middle of the headers/ },
  'two digits of version': { bytes: 'HTTP/1.10 200 OK\r\n\r\n', says: /status line/ },
  'four digits of status': { bytes: 'HTTP/1.1 2000 OK\r\n\r\n', says: /status line/ },
  'two digits of status': { bytes: 'HTTP/1.1 20 OK\r\n\r\n', says: /status line/ },
  'a status of 099': { bytes: 'HTTP/1.1 099 Odd\r\n\r\n', says: /status line/ },
  'a status in letters': { bytes: 'HTTP/1.1 abc OK\r\n\r\n', says: /status line/ },
  'a tab before the status': { bytes: 'HTTP/1.1\t200 OK\r\n\r\n', says: /status line/ },
  'a negative status': { bytes: 'HTTP/1.1 -200 OK\r\n\r\n', says: /status line/ },
  'NUL in the reason': { bytes: 'HTTP/1.1 200 O\0K\r\n\r\n', says: /status line/ },
  'only carriage returns': { bytes: 'HTTP/1.1 200 OK\rX: y\r\r', says: /middle of the headers/ },
  'a length behind a bare carriage return': {
    bytes: `${OK}A: b\rContent-Length: 5\r\n\r\nhello`,
    says: /header line about its length/,
  },
  'NUL in a value': { bytes: `${OK}A: b\0\r\n\r\n`, says: /NUL byte/ },
  'a space before the colon of a length': {
    bytes: `${OK}Content-Length : 5\r\n\r\nhello`,
    says: /header line about its length/,
  },
  'a folded length without a header': {
    bytes: `${OK} Content-Length: 5\r\n\r\nhello`,
    says: /header line about its length/,
  },
  '1001 headers': { bytes: `${OK}${'A: b\r\n'.repeat(1_001)}\r\n`, says: /more than 1000/ },
  '257 KiB of headers': { bytes: `${OK}A: ${'b'.repeat(257 * 1_024)}\r\n\r\n`, says: /longer than 256 KiB/ },
  'an upgrade nobody asked for': {
    bytes: 'HTTP/1.1 101 Switching\r\n\r\n',
    says: /saw 101: the target switched to another protocol/,
  },
  'two lengths': {
    bytes: `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
    says: /not one number/,
  },
  'a list of lengths': { bytes: `${OK}Content-Length: 5, 6\r\n\r\nhello!`, says: /not one number/ },
  'a negative length': { bytes: `${OK}Content-Length: -5\r\n\r\nhello`, says: /not one number/ },
  'a length with a sign': { bytes: `${OK}Content-Length: +5\r\n\r\nhello`, says: /not one number/ },
  'a hexadecimal length': { bytes: `${OK}Content-Length: 0x5\r\n\r\nhello`, says: /not one number/ },
  'an empty length': { bytes: `${OK}Content-Length: \r\n\r\nhello`, says: /not one number/ },
  'a length beyond counting': {
    bytes: `${OK}Content-Length: 99999999999999999999\r\n\r\nhello`,
    says: /not one number/,
  },
  'a transfer coding nobody asked for': {
    bytes: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    says: /Transfer-Encoding is not understood/,
  },
  'a vertical tab before chunked': {
    bytes: `${OK}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
    says: /Transfer-Encoding is not understood/,
  },
  'less body than announced': { bytes: `${OK}Content-Length: 10\r\n\r\nhello`, says: /after 5 of 10/ },
  'chunks without the last one': { bytes: `${CHUNKED}5\r\nhello\r\n`, says: /before the last chunk/ },
  'no end of the trailers': { bytes: `${CHUNKED}0\r\nX: y\r\n`, says: /before the last chunk/ },
  'a chunk size in words': { bytes: `${CHUNKED}five\r\nhello\r\n0\r\n\r\n`, says: /no chunk size/ },
  'a negative chunk size': { bytes: `${CHUNKED}-5\r\nhello\r\n0\r\n\r\n`, says: /no chunk size/ },
  'a chunk size with 0x': { bytes: `${CHUNKED}0x5\r\nhello\r\n0\r\n\r\n`, says: /no chunk size/ },
  'a chunk size beyond counting': { bytes: `${CHUNKED}fffffffffffffffff\r\nhello`, says: /no chunk size/ },
  'an empty chunk size': { bytes: `${CHUNKED}\r\nhello`, says: /no chunk size/ },
  'a bare carriage return after a chunk size': {
    bytes: `${CHUNKED}5\rhello\r\n0\r\n\r\n`,
    says: /no chunk size/,
  },
  'a chunk longer than its size': {
    bytes: `${CHUNKED}3\r\nhello\r\n0\r\n\r\n`,
    says: /longer than its size/,
  },
};

/** Unusual but well-formed answers with the body `hello`. */
export const ODD_BUT_GOOD: Readonly<Record<string, string>> = {
  'no reason phrase': 'HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello',
  'an empty reason phrase': 'HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello',
  'HTTP/1.0 until close': 'HTTP/1.0 200 OK\r\n\r\nhello',
  'the same length twice': `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  'interim responses first': `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 5\r\n\r\nhello`,
  'a folded header': `${OK}X-Folded: a\r\n  b\r\nContent-Length: 5\r\n\r\nhello`,
  'chunk extensions and trailers': `${CHUNKED}2;a=b\r\nhe\r\n03 ; c\r\nllo\r\n0\r\nX-Trailer: y\r\n\r\n`,
  'bytes after the end': `${OK}Content-Length: 5\r\n\r\nhelloHTTP/1.1 500 Second\r\n\r\n`,
  'upper-case chunked': `${OK}Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  'only line feeds': 'HTTP/1.1 200 OK\nContent-Length: 5\n\nhello',
  'an empty line with a line feed only': `${OK}Content-Length: 5\r\n\nhello`,
  'a line feed before an empty line': 'HTTP/1.1 200 OK\nContent-Length: 5\n\r\nhello',
  'line feeds among chunks': `${OK}Transfer-Encoding: chunked\n\n5\nhello\n0\n\n`,
  'two spaces before the status': 'HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello',
  'odd header lines': `${OK}nonsense\r\n: value\r\nX Y: z\r\n[x]: y\r\n folded\r\nContent-Length: 5\r\n\r\nhello`,
  'length and chunks': `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  'chunked twice': `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  '999 other headers': `${OK}${'A: b\r\n'.repeat(999)}Content-Length: 5\r\n\r\nhello`,
  'no blank after the colons': `${OK}Content-Length:5\r\nX:\r\n\r\nhello`,
};

/** A body that is broken off in the middle by a reset. */
export const resetInBody: Behaviour = sendAndReset(`${OK}Content-Length: 1000\r\n\r\nhello`);

const BOMB_BYTES = 64 * 1_024 * 1_024;

/** Bodies of some kilobytes that decode to many megabytes of `a`, by `Content-Encoding`. */
export function bombs(): Record<string, Buffer> {
  const bytes = Buffer.alloc(BOMB_BYTES, 'a');
  const gzip = gzipSync(bytes.subarray(0, BOMB_BYTES / 8), { level: 1 });
  // Gzip members in a row are one file of any size.
  const many = Buffer.concat(Array.from({ length: 128 }, () => gzip));
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  return {
    gzip: many,
    deflate: deflateSync(bytes, { level: 1 }),
    br: brotliCompressSync(bytes, quick),
    zstd: zstdCompressSync(bytes),
    'gzip, gzip': gzipSync(many),
  };
}

/** Answers with an encoded body. */
export function encoded(contentEncoding: string, body: Buffer): Behaviour {
  const head = `${OK}Content-Encoding: ${contentEncoding}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return answer(Buffer.concat([Buffer.from(head), body]));
}

/** Redirects to the same place for ever; `delayMs` before each answer. */
export function endlessRedirects(delayMs: number): Behaviour {
  return (socket) => {
    const timer = setTimeout(
      () => socket.end('HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n'),
      delayMs,
    );
    socket.on('close', () => clearTimeout(timer));
  };
}

export function redirectTo(location: string, status = 302): Behaviour {
  return answer(`HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);
}
