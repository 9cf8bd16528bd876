/**
 * Escapes the three characters that begin markup in the subsets of HTML that vendors take and in Slack's
 * formatting. It is for text between tags, not for values of attributes.
 */
export function escapedMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
