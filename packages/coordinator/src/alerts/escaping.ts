/**
 * Escapes the three characters of markup, for the subsets of HTML that vendors take and for Slack's format. The
 * result is for text between tags. In the value of an attribute, the text must have no quotation mark.
 */
export function escapedMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Converts a text that people wrote to HTML, for a place
 * between tags. Markup is escaped, and line breaks are kept.
 */
export function linesAsHtml(text: string): string {
  return escapedMarkup(text).replace(/\r\n?|\n/g, '<br>');
}

/**
 * A word joiner (U+2060). It has no width, and prevents a line break. A channel's code puts it after a
 * character that begins a mention. So a monitor's name cannot notify people, and looks the same.
 */
export const INVISIBLE = '\u2060';

/** How a medium writes the parts of a text. */
export type TextForms = {
  /** Writes the text between addresses. */
  readonly text: (text: string) => string;
  /**
   * Writes an address as a link. `target` is the address without
   * unescaped white space, double quotation marks, `<` and `>`.
   */
  readonly link: (address: string, target: string) => string;
  /**
   * Writes an address that cannot be a link: it is shortened or masked
   * (`…`), its scheme is not http or https, or it is not a valid URL.
   */
  readonly address: (address: string) => string;
};

/** How HTML writes the parts of a text. The same forms fit the subsets of HTML that vendors take. */
export const HTML: TextForms = {
  text: escapedMarkup,
  link: (address, target) => `<a href="${escapedMarkup(target)}">${escapedMarkup(address)}</a>`,
  address: escapedMarkup,
};

/** Matches an address in a text, together with the punctuation that follows it. */
const ADDRESS = /https?:\/\/[^\s<>"]+/gi;

/**
 * Writes a text in the forms of a medium. Addresses are written separately, so that no escape breaks them.
 */
export function inForms(forms: TextForms, text: string): string {
  let result = '';
  let at = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = withoutMarks(found);
    result += forms.text(text.slice(at, index)) + addressIn(forms, address);
    at = index + address.length;
  }
  return result + forms.text(text.slice(at));
}

/** Writes a text that consists of one address, in the form of a medium. */
export function addressIn({ link, address }: TextForms, text: string): string {
  const isLink = /^https?:/i.test(text) && !text.includes('…') && URL.canParse(text);
  return isLink ? link(text, text.replace(/[\s<>"]/g, encodeURIComponent)) : address(text);
}

const MARKS = new Set(".,:;!?'’”»");
const BRACKETS: ReadonlyMap<string, string> = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
]);

/**
 * Returns the address without the punctuation that follows it. A closing bracket at the
 * end stays if the address also has the opening bracket. The running time is linear in the
 * length of the text, because an incident's text may be long and goes to each subscriber.
 */
function withoutMarks(found: string): string {
  const counts = new Map<string, number>();
  for (const character of found) counts.set(character, (counts.get(character) ?? 0) + 1);
  const count = (character: string) => counts.get(character) ?? 0;
  let end = found.length;
  for (; end > 0; end -= 1) {
    const last = found.charAt(end - 1);
    const opening = BRACKETS.get(last);
    const isUnopened = opening !== undefined && count(opening) < count(last);
    if (!isUnopened && !MARKS.has(last)) break;
    counts.set(last, count(last) - 1);
  }
  return found.slice(0, end);
}
