/**
 * Escapes the three characters that begin markup in HTML, in the subsets of it that vendors take, and in Slack's
 * formatting. It is for text between tags, and for an http(s) URL in double quotes.
 */
export function escapedMarkup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
