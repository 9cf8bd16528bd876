/**
 * Escapes the three characters that begin markup in the subsets of HTML that vendors take and in Slack's
 * formatting. It is for text between tags, not for values of attributes.
 */
export function escapedMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A text that people wrote, as HTML between tags: escaped, with its lines and blank lines. */
export function linesAsHtml(text: string): string {
  return escapedMarkup(text).replace(/\r\n?|\n/g, '<br>');
}

/**
 * A word joiner (U+2060): it has no width, and no line breaks at it. After a character that begins a mention, it keeps a
 * monitor's name from calling people, and the name reads as before.
 */
export const INVISIBLE = '\u2060';
