import { SvcError } from '@svc/shared/errors.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';

export type ResponseHead = {
  statusCode: number;
  /** Values by lower-case name. {@link HeaderFields} says how several values are kept. */
  headers: ReadonlyMap<string, string>;
  /** The values of `Set-Cookie`, one for each line; absent when there is no such line. */
  setCookies?: readonly string[] | undefined;
  /** Whether the response has several `Location` lines with different values. */
  hasSeveralLocations?: boolean;
};

/** How the end of a response's body is found (RFC 9112, section 6.3). */
export type Framing =
  | { kind: 'none' }
  | { kind: 'length'; length: number }
  | { kind: 'chunked' }
  | { kind: 'until-close' };

/** Maximum size of a head together with all interim (1xx) heads before it, bytes. */
export const MAX_HEAD_BYTES = 256 * 1_024;
/** Maximum number of header lines in one head. */
export const MAX_HEAD_LINES = 1_000;

/** Some servers name odd versions, and some send two spaces before the status. Other clients accept this. */
const STATUS_LINE = /^HTTP\/\d(?:\.\d)? +([1-9]\d\d)(?: [^\0\n]*)?$/i;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FORBIDDEN_IN_VALUE = /[\0\r]/;
/**
 * Matches runs of control characters and spaces, without the
 * characters that some readers take for the end of a line.
 */
const BLANKS = /[\x01-\x0c\x0e-\x20\x7f]+/g;
/**
 * Matches the name of a framing header at the start of a line, or after a character that some
 * readers take for the end of a line. {@link BLANKS} are removed before. Otherwise a long run
 * of blanks would be searched again from each of its characters, and a line may have 256 KiB.
 */
const FRAMING_NAME = /(?:^|[\0\r])(?:content-length|transfer-encoding)[\0\r]*:/i;

/**
 * Reads a status line and a header section. Lines end with LF, with or without CR before it (RFC
 * 9112, section 2.2). Folded lines are joined by a space, as section 5.2 requires of user agents.
 *
 * An odd line (no colon, no name, a name that is not a token, a CR in its value) is
 * skipped with the folded lines after it, as clients do. If an odd line names a framing
 * header, the head is refused: some readers skip the line and others obey it, so they
 * would see different bodies. The head is also refused if an odd line has a NUL byte.
 *
 * @param text the head without its final empty line, one character per byte
 * @throws ResponseError when the head is refused, or is not HTTP
 */
export function parseHead(text: string): ResponseHead {
  let lineFeed = endOfLine(text, 0);
  const statusLine = text.slice(0, withoutReturn(text, 0, lineFeed));
  const status = STATUS_LINE.exec(statusLine);
  if (status === null) {
    // The first line is complete, so a text that is shorter than "HTTP/" cannot be a status line.
    if (text.length < HTTP.length || !beginsAsHttp(text)) throw notHttp(text);
    throw new ResponseError(`the answer's status line is malformed: ${excerpt(statusLine)}`);
  }
  if (statusLine.includes('\r') && namesFraming(statusLine)) throw malformedLength(statusLine);
  const fields = new FieldLines();
  for (let start = lineFeed + 1; start < text.length; start = lineFeed + 1) {
    lineFeed = endOfLine(text, start);
    fields.addLine(text, start, withoutReturn(text, start, lineFeed));
  }
  return {
    statusCode: Number(status[1]),
    headers: fields.values,
    setCookies: fields.setCookies,
    hasSeveralLocations: fields.hasSeveralLocations,
  };
}

/** The fields of a head, in the order in which they were added. The class serves every version of HTTP. */
export class HeaderFields {
  /**
   * Values by lower-case name. Several values are joined by
   * `, `. Of several `Location`s only the first is kept.
   */
  readonly values = new Map<string, string>();
  /** The values of `Set-Cookie`, one for each field; undefined when there is no such field. */
  setCookies: string[] | undefined;
  hasSeveralLocations = false;

  /**
   * Adds a field.
   *
   * @param name in lower case
   */
  add(name: string, value: string): void {
    const before = this.values.get(name);
    if (name === 'set-cookie') {
      this.setCookies ??= [];
      this.setCookies.push(value);
    } else if (before !== undefined && name === 'location') {
      this.hasSeveralLocations ||= before !== value;
      return;
    }
    this.values.set(name, before === undefined ? value : `${before}, ${value}`);
  }

  /**
   * Continues the value of the field that was added last.
   *
   * @param name name of that field
   */
  extend(name: string, value: string): void {
    const before = this.values.get(name) ?? '';
    this.values.set(name, before === '' ? value : `${before} ${value}`);
    const cookie = name === 'set-cookie' ? this.setCookies?.pop() : undefined;
    if (cookie !== undefined) this.setCookies?.push(`${cookie} ${value}`);
  }
}

/** A header section whose lines are being added. */
class FieldLines extends HeaderFields {
  #count = 0;
  /**
   * Position of the last colon that was found. It is remembered so that
   * a head without colons is not searched again from each of its lines.
   */
  #colon = -1;
  /** Name of the header that a folded line would continue; empty after a skipped line. */
  #name = '';

  /** Adds the line `text[start, end)`. The characters at its end (CR, LF) are not part of it. */
  addLine(text: string, start: number, end: number): void {
    this.#count += 1;
    if (this.#count > MAX_HEAD_LINES) {
      throw new ResponseError(`the answer has more than ${MAX_HEAD_LINES} header lines`);
    }
    if (isBlank(text.charCodeAt(start))) {
      this.#fold(text, start, end);
      return;
    }
    if (this.#colon < start) this.#colon = firstColon(text, start);
    const colon = this.#colon;
    const name = colon >= end ? '' : text.slice(start, colon);
    const value = name === '' ? '' : fieldValue(text, colon + 1, end);
    if (!TOKEN.test(name) || FORBIDDEN_IN_VALUE.test(value)) {
      this.#skip(text.slice(start, end));
      return;
    }
    this.#name = name.toLowerCase();
    this.add(this.#name, value);
  }

  #fold(text: string, start: number, end: number): void {
    const value = fieldValue(text, start, end);
    if (this.#name === '' || FORBIDDEN_IN_VALUE.test(value)) {
      this.#skip(text.slice(start, end));
      return;
    }
    if (value !== '') this.extend(this.#name, value);
  }

  #skip(line: string): void {
    if (namesFraming(line)) throw malformedLength(line);
    if (line.includes('\0')) {
      throw new ResponseError(`the answer has a header line with a NUL byte: ${excerpt(line)}`);
    }
    this.#name = '';
  }
}

/**
 * Decides how the body ends (RFC 9112, section 6.3).
 * `Transfer-Encoding` takes precedence over `Content-Length`.
 *
 * Ambiguous framing is refused. It is ambiguous when the response has a transfer coding that the request
 * did not ask for. Without a transfer coding, it is ambiguous when lengths differ or are not plain numbers.
 *
 * @throws ResponseError when the framing is ambiguous
 */
export function framingOf(method: HttpCheck['method'], { statusCode, headers }: ResponseHead): Framing {
  if (method === 'HEAD' || statusCode < 200 || statusCode === 204 || statusCode === 304) return NO_BODY;
  const transferEncoding = headers.get('transfer-encoding');
  if (transferEncoding !== undefined && isChunked(transferEncoding)) return CHUNKED;
  const contentLength = headers.get('content-length');
  if (contentLength === undefined) return UNTIL_CLOSE;
  const length = parseLength(contentLength);
  return length === 0 ? NO_BODY : { kind: 'length', length };
}

const NO_BODY: Framing = { kind: 'none' };
const CHUNKED: Framing = { kind: 'chunked' };
const UNTIL_CLOSE: Framing = { kind: 'until-close' };

/**
 * Whether the body is chunked. `chunked` twice means chunked once. `identity` and
 * an empty value mean that there is no coding. The same rules apply to HTTP/1.0,
 * because proxies of that version forward the header and the chunks unchanged.
 */
function isChunked(transferEncoding: string): boolean {
  if (transferEncoding === 'chunked') return true;
  const codings = listed(transferEncoding)
    .map((coding) => coding.toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.some((coding) => coding !== 'chunked')) {
    throw new ResponseError(`the answer's Transfer-Encoding is not understood: ${excerpt(transferEncoding)}`);
  }
  return codings.length > 0;
}

/** Reads a content length. Several equal lengths count as one (RFC 9112, section 6.3, rule 5). */
function parseLength(text: string): number {
  const [first = '', ...others] = text.includes(',') ? listed(text) : [text];
  const length = /^\d{1,16}$/.test(first) ? Number(first) : Number.NaN;
  if (!Number.isSafeInteger(length) || others.some((other) => other !== first)) {
    throw new ResponseError(`the answer's Content-Length is not one number: ${excerpt(text)}`);
  }
  return length;
}

/**
 * Maximum length of a list that is split, in characters. No real answer
 * has a longer list, and splitting a longer list would take milliseconds.
 */
const MAX_LIST = 1_000;
const SPACE = 0x20;
const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;

function endOfLine(text: string, start: number): number {
  const lineFeed = text.indexOf('\n', start);
  return lineFeed === -1 ? text.length : lineFeed;
}

function firstColon(text: string, start: number): number {
  const colon = text.indexOf(':', start);
  return colon === -1 ? text.length : colon;
}

function withoutReturn(text: string, start: number, end: number): number {
  let stop = end;
  while (stop > start && text.charCodeAt(stop - 1) === CARRIAGE_RETURN) stop -= 1;
  return stop;
}

/**
 * The elements of a list, without the spaces and tabs around them. `trim` would also remove
 * characters that only some readers treat as blank, such as a vertical tab before `chunked`.
 */
function listed(text: string): string[] {
  if (text.length > MAX_LIST) return [text];
  return text.split(',').map((element) => fieldValue(element, 0, element.length));
}

/** The text from `start` to `end`, without the spaces and tabs around it. */
function fieldValue(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function namesFraming(line: string): boolean {
  return FRAMING_NAME.test(line.replace(BLANKS, ''));
}

function malformedLength(line: string): ResponseError {
  return new ResponseError(`the answer has a malformed header line about its length: ${excerpt(line)}`);
}

/**
 * Whether `text` can be the beginning of an HTTP answer.
 *
 * @param text first bytes from the target, any number of them, one character per byte
 */
export function beginsAsHttp(text: string): boolean {
  return HTTP.startsWith(text.slice(0, HTTP.length).toUpperCase());
}

const HTTP = 'HTTP/';

/**
 * The error for an answer that is not HTTP.
 *
 * @param text first bytes from the target, one character per byte
 */
export function notHttp(text: string): ResponseError {
  return new ResponseError(`the answer is not HTTP/1.x: ${excerpt(text)}`);
}

/** The beginning of the text, at most 60 characters, quoted and without control characters. */
export function excerpt(text: string): string {
  const start = text.slice(0, 60).replace(/[\u0000-\u001f\u007f-\u009f]/g, '·');
  return text.length > 60 ? `"${start}…"` : `"${start}"`;
}

/** The target's answer is not a well-formed HTTP response. The message may appear in a result. */
export class ResponseError extends SvcError {
  constructor(message: string) {
    super('EBADRESPONSE', message);
  }
}
