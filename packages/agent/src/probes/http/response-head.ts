import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { ResponseError } from './response-error.ts';

export type ResponseHead = {
  statusCode: number;
  /** By lower-case name; several values joined by `, `. */
  headers: ReadonlyMap<string, string>;
};

/** How the end of a response's body is known (RFC 9112, section 6.3). */
export type Framing =
  | { kind: 'none' }
  | { kind: 'length'; length: number }
  | { kind: 'chunked' }
  | { kind: 'until-close' };

export const MAX_HEAD_BYTES = 64 * 1_024;
export const MAX_HEADERS = 200;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\0\r\n]*)?$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FORBIDDEN_IN_VALUE = /[\0\r\n]/;

/**
 * Reads a status line and header section.
 *
 * Stricter than browsers where a lenient reading could mean two things: lines end with CRLF only,
 * no space before a colon, no control characters that change framing. Folded lines are joined by a
 * space, as RFC 9112 section 5.2 tells user agents to.
 *
 * @param text the head without its final empty line, one character per byte
 * @throws ResponseError
 */
export function parseHead(text: string): ResponseHead & { isHttp10: boolean } {
  let lineEnd = text.indexOf('\r\n');
  if (lineEnd === -1) lineEnd = text.length;
  const status = STATUS_LINE.exec(text.slice(0, lineEnd));
  if (status === null) {
    throw new ResponseError(`the answer's status line is malformed: ${excerpt(text.slice(0, lineEnd))}`);
  }
  const headers = new Map<string, string>();
  let name = '';
  let count = 0;
  for (let start = lineEnd + 2; start < text.length; start = lineEnd + 2) {
    lineEnd = text.indexOf('\r\n', start);
    if (lineEnd === -1) lineEnd = text.length;
    count += 1;
    if (count > MAX_HEADERS) throw new ResponseError(`the answer has more than ${MAX_HEADERS} header lines`);
    const first = text.charCodeAt(start);
    if (first === SPACE || first === TAB) {
      if (name === '') throw malformedLine(text.slice(start, lineEnd));
      headers.set(name, `${headers.get(name)} ${fieldValue(text, start, lineEnd)}`.trim());
      continue;
    }
    const colon = text.indexOf(':', start);
    if (colon === -1 || colon >= lineEnd) throw malformedLine(text.slice(start, lineEnd));
    name = text.slice(start, colon);
    if (!TOKEN.test(name)) throw malformedLine(text.slice(start, lineEnd));
    name = name.toLowerCase();
    const value = fieldValue(text, colon + 1, lineEnd);
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { statusCode: Number(status[2]), headers, isHttp10: status[1] === '0' };
}

/**
 * Decides how the body ends. What two readers could understand differently is refused: a length beside
 * chunks, lengths that differ, anything that is no plain number, transfer codings nobody asked for.
 *
 * @throws ResponseError
 */
export function framingOf(
  method: HttpCheck['method'],
  { statusCode, headers, isHttp10 }: ResponseHead & { isHttp10: boolean },
): Framing {
  const transferEncoding = headers.get('transfer-encoding');
  const contentLength = headers.get('content-length');
  if (transferEncoding !== undefined && contentLength !== undefined) {
    throw new ResponseError('the answer has both Content-Length and Transfer-Encoding');
  }
  const length = contentLength === undefined ? undefined : parseLength(contentLength);
  if (method === 'HEAD' || statusCode < 200 || statusCode === 204 || statusCode === 304) return NO_BODY;
  if (transferEncoding !== undefined) {
    if (isHttp10 || transferEncoding.toLowerCase() !== 'chunked') {
      throw new ResponseError(
        `the answer's Transfer-Encoding is not understood: ${excerpt(transferEncoding)}`,
      );
    }
    return CHUNKED;
  }
  if (length === undefined) return UNTIL_CLOSE;
  return length === 0 ? NO_BODY : { kind: 'length', length };
}

const NO_BODY: Framing = { kind: 'none' };
const CHUNKED: Framing = { kind: 'chunked' };
const UNTIL_CLOSE: Framing = { kind: 'until-close' };

/** A repeated equal length is one length (RFC 9112, section 6.3, rule 5). */
function parseLength(text: string): number {
  const [first = '', ...others] = text.includes(',') ? text.split(',').map((part) => part.trim()) : [text];
  const length = /^\d{1,16}$/.test(first) ? Number(first) : Number.NaN;
  if (!Number.isSafeInteger(length) || others.some((other) => other !== first)) {
    throw new ResponseError(`the answer's Content-Length is not one number: ${excerpt(text)}`);
  }
  return length;
}

const SPACE = 0x20;
const TAB = 0x09;

/** The text between `start` and `end` without the spaces and tabs around it. */
function fieldValue(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  const value = text.slice(from, to);
  if (FORBIDDEN_IN_VALUE.test(value)) throw malformedLine(value);
  return value;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function malformedLine(line: string): ResponseError {
  return new ResponseError(`the answer has a malformed header line: ${excerpt(line)}`);
}

/** Some of what the target sent, quoted, on one line. */
export function excerpt(text: string): string {
  const start = text.slice(0, 60).replace(/[\u0000-\u001f\u007f-\u009f]/g, '·');
  return text.length > 60 ? `"${start}…"` : `"${start}"`;
}
