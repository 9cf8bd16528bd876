/**
 * The bytes that a target sends, and the expected verdict of the HTTP probe. Every text has one character per
 * byte.
 */
export type Answer = {
  /** `family: name`, unique. */
  id: string;
  family: string;
  bytes: string;
  method: 'GET' | 'HEAD';
  /** How the connection ends after the bytes: orderly, or by a reset. */
  end: 'close' | 'reset';
  /** Answers at further paths. `{cookie}` in them becomes the request's `Cookie`. */
  others: Readonly<Record<string, string>>;
  expected: Expectation;
};

export type Expectation =
  /** A response with this status (200 unless said) and this body. */
  | { status: number; body: string }
  /** The attempt fails, and its message matches. */
  | { refused: RegExp };

type Given = Partial<Pick<Answer, 'method' | 'end' | 'others'>>;

/** One family of answers. Each has a name, its bytes and the expected verdict of the probe. */
export function family(
  name: string,
  answers: readonly (readonly [string, string, Expectation | string, Given?])[],
): Answer[] {
  return answers.map(([answerName, bytes, expected, given]) => ({
    id: `${name}: ${answerName}`,
    family: name,
    bytes,
    method: 'GET',
    end: 'close',
    others: {},
    ...given,
    expected: typeof expected === 'string' ? { status: 200, body: expected } : expected,
  }));
}

export const OK = 'HTTP/1.1 200 OK\r\n';
export const HELLO_LENGTH = 'Content-Length: 5\r\n';
export const HELLO_CHUNKS = '5\r\nhello\r\n0\r\n\r\n';

/** One or more bytes as a person would write them: `\x0b`, `\r\n`. */
export function spelled(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, (character) => {
    const known = { ' ': 'blank', '\t': '\\t', '\r': '\\r', '\n': '\\n' }[character];
    return known ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
