/** C0 but for tab and line feed, DEL, C1, line separators, and what changes the direction of writing (UAX #9). */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A text from elsewhere (a name, an answer, a line of another program) as a terminal may show it: what would move the
 * cursor, set colours or turn the writing around is shown as `\\u{…}`.
 */
export function forTerminal(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
