/**
 * The text that a browser sends back for an input that was rendered with this value and left untouched (HTML Standard:
 * "preprocessing the input stream", "value sanitization algorithm"), with line feeds as line ends. An input of one
 * line loses line ends, and NUL becomes the replacement character.
 */
export function asSent(text: string, isMultiline: boolean): string {
  const parsed = withLineFeeds(text).replaceAll('\u0000', '\ufffd');
  return isMultiline ? parsed : parsed.replaceAll('\n', '');
}

/** Browsers send the line ends of a text as CRLF. */
export function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}
