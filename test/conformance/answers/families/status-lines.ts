import { type Expectation, family, HELLO_LENGTH, spelled } from '../answer.ts';

const MALFORMED: Expectation = { refused: /status line is malformed/ };
const NO_HTTP: Expectation = { refused: /not HTTP\/1\.x/ };
const HELLO = 'hello';

const VERSIONS: readonly [string, Expectation | string][] = [
  ['HTTP/1.0', HELLO],
  ['HTTP/1.2', HELLO],
  ['HTTP/1.9', HELLO],
  ['HTTP/1.', MALFORMED],
  ['HTTP/1.10', MALFORMED],
  ['HTTP/1.1.1', MALFORMED],
  ['HTTP/1', HELLO],
  ['HTTP/0.9', HELLO],
  ['HTTP/2', HELLO],
  ['HTTP/2.0', HELLO],
  ['HTTP/3', HELLO],
  ['HTTP/01.1', MALFORMED],
  ['HTTP/', MALFORMED],
  ['HTTP', NO_HTTP],
  ['HTTP /1.1', NO_HTTP],
  ['http/1.1', HELLO],
  ['Http/1.1', HELLO],
  ['XHTTP/1.1', NO_HTTP],
  ['ICY', NO_HTTP],
  ['RTSP/1.0', NO_HTTP],
  ['SIP/2.0', NO_HTTP],
];

const BLANKS: readonly [string, Expectation | string][] = [
  ['  ', HELLO],
  ['   ', HELLO],
  ['\t', MALFORMED],
  [' \t', MALFORMED],
  ['', MALFORMED],
];

const STATUSES: readonly [string, Expectation | string][] = [
  ...['20', '2', '2000', '099', '000', 'abc', '2x0', '-200', '+200', '200OK', '0x200', '200.0', ''].map(
    (status): [string, Expectation] => [status, MALFORMED],
  ),
  ...[201, 202, 203, 206, 207, 226, 299, 300, 305, 306, 399, 400, 401, 403, 404, 407, 410, 418, 429, 451].map(
    (status): [string, Expectation] => [String(status), { status, body: HELLO }],
  ),
  ...[500, 501, 502, 503, 504, 511, 599, 600, 799, 999].map((status): [string, Expectation] => [
    String(status),
    { status, body: HELLO },
  ]),
];

const REASONS: readonly [string, Expectation | string][] = [
  ['', HELLO],
  [' ', HELLO],
  ['  OK', HELLO],
  [' OK ', HELLO],
  [' O\tK', HELLO],
  [' \xd6K', HELLO],
  [' O\x01K', HELLO],
  [' O\x7fK', HELLO],
  [' O\0K', MALFORMED],
  [' O\rK', HELLO],
  [' O\rContent-Length: 3', { refused: /malformed header line about its length/ }],
  ['\tOK', MALFORMED],
  [` ${'x'.repeat(8_000)}`, HELLO],
];

const PREAMBLES: readonly [string, Expectation | string][] = [
  ['\r\n', NO_HTTP],
  ['\n', NO_HTTP],
  ['\r\n\r\n', NO_HTTP],
  [' ', NO_HTTP],
  ['\0', NO_HTTP],
  ['x', NO_HTTP],
  ['xxxx', NO_HTTP],
  ['xxxxx', NO_HTTP],
  ['\xef\xbb\xbf', NO_HTTP],
  ['garbage\r\n', NO_HTTP],
];

const rest = `${HELLO_LENGTH}\r\nhello`;

export const STATUS_LINES = family('status line', [
  ...VERSIONS.map(([text, expected]) => [`version ${text}`, `${text} 200 OK\r\n${rest}`, expected] as const),
  ...BLANKS.map(
    ([text, expected]) =>
      [`"${spelled(text)}" before the status`, `HTTP/1.1${text}200 OK\r\n${rest}`, expected] as const,
  ),
  ...STATUSES.map(
    ([text, expected]) => [`status "${text}"`, `HTTP/1.1 ${text} Reason\r\n${rest}`, expected] as const,
  ),
  ...REASONS.map(
    ([text, expected]) =>
      [`reason "${spelled(text.slice(0, 20))}"`, `HTTP/1.1 200${text}\r\n${rest}`, expected] as const,
  ),
  ...PREAMBLES.map(
    ([text, expected]) =>
      [`"${spelled(text)}" before it`, `${text}HTTP/1.1 200 OK\r\n${rest}`, expected] as const,
  ),
]);
