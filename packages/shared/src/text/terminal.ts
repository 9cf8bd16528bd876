/**
 * Control characters (C0 except tab and line feed, DEL, C1), line separators, and characters that change the
 * direction of the text (UAX #9).
 */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Makes a foreign text (a name, an answer, a line of another program) safe for a terminal. Characters that
 * would move the cursor, set colours or change the direction of the text become `\u{…}`.
 */
export function forTerminal(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
