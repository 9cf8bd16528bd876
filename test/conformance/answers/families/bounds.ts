import { type Answer, type Expectation, family, HELLO_LENGTH, OK } from '../answer.ts';

const TOO_MANY: Expectation = { refused: /more than 1000 header lines/ };
const TOO_LONG: Expectation = { refused: /longer than 256 KiB/ };
const rest = `${HELLO_LENGTH}\r\nhello`;
const KIB = 1_024;

export const BOUNDS: Answer[] = family('size of the head', [
  ...[50, 100, 101, 150, 200, 201, 300, 500, 800, 999, 1_000, 1_500, 3_000].map((count) => {
    const lines = Array.from({ length: count }, (_, index) => `X-${index}: y\r\n`).join('');
    return [
      `${count} lines and a length`,
      `${OK}${lines}${rest}`,
      count < 1_000 ? 'hello' : TOO_MANY,
    ] as const;
  }),
  ...[4, 8, 16, 32, 64, 90, 110, 128, 200, 250, 260, 300, 400].map((size) => {
    const line = `X: ${'y'.repeat(size * KIB)}\r\n`;
    return [`a line of ${size} KiB`, `${OK}${line}${rest}`, size < 256 ? 'hello' : TOO_LONG] as const;
  }),
  ...[32, 64, 100, 200, 250, 270, 310, 400].map((size) => {
    const lines = `X: ${'y'.repeat(KIB - 5)}\r\n`.repeat(size);
    return [`${size} lines of 1 KiB`, `${OK}${lines}${rest}`, size < 256 ? 'hello' : TOO_LONG] as const;
  }),
]);

const EARLY = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

export const INTERIM: Answer[] = family('interim responses', [
  ...[100, 102, 103, 104, 150, 199].map(
    (status) => [`status ${status}`, `HTTP/1.1 ${status} Reason\r\n\r\n${OK}${rest}`, 'hello'] as const,
  ),
  ...[2, 5, 6, 10, 50].map(
    (count) => [`${count} of them`, `${EARLY.repeat(count)}${OK}${rest}`, 'hello'] as const,
  ),
  ['100 with a length', `HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n${OK}${rest}`, 'hello'],
  ['100 with lone line feeds', `HTTP/1.1 100 Continue\n\n${OK}${rest}`, 'hello'],
  ['nothing after it', EARLY, { refused: /in the middle of the headers|without an answer|no final/ }],
  ['101', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n', { status: 101, body: '' }],
  [
    '101 and a response after it',
    `HTTP/1.1 101 Switching Protocols\r\n\r\n${OK}${rest}`,
    { status: 101, body: '' },
  ],
]);

const NO_HTTP: Expectation = { refused: /not HTTP\/1\.x|without an answer/ };

export const FOREIGN: Answer[] = family('no HTTP', [
  ['an SSH banner', 'SSH-2.0-OpenSSH_9.6\r\n', NO_HTTP],
  ['an SMTP banner', '220 mail.example.com ESMTP\r\n', NO_HTTP],
  ['an FTP banner', '220 (vsFTPd 3.0.3)\r\n', NO_HTTP],
  ['a POP3 banner', '+OK POP3 ready\r\n', NO_HTTP],
  ['Redis', "-ERR unknown command 'GET'\r\n", NO_HTTP],
  ['NATS', 'INFO {"server_id":"A"}\r\n', NO_HTTP],
  ['MySQL', '\x4a\0\0\0\x0a8.0.36\0', NO_HTTP],
  ['a TLS alert', '\x15\x03\x01\0\x02\x02\x46', NO_HTTP],
  ['settings of HTTP/2', '\0\0\0\x04\0\0\0\0\0', { refused: /HTTP\/2 without TLS/ }],
  ['HTML without a head', '<html><body>hello</body></html>', NO_HTTP],
  ['text without a head', 'hello', NO_HTTP],
  ['an empty line', '\r\n', NO_HTTP],
  ['zeros', '\0'.repeat(100), NO_HTTP],
  ['a request', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', NO_HTTP],
]);
