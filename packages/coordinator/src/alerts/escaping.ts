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

/** The forms that a medium gives to the parts of a text. */
export type TextForms = {
  /** Of what is no address. */
  readonly text: (text: string) => string;
  /** Of an address, so that the medium links it whole. The target is the address, fit for an attribute. */
  readonly link: (address: string, target: string) => string;
  /** Of an address that leads nowhere: it is cut or masked (`…`), or has another scheme than http and https. */
  readonly address: (address: string) => string;
};

/** Forms in HTML, and in the subsets of it that vendors take. */
export const HTML: TextForms = {
  text: escapedMarkup,
  link: (address, target) => `<a href="${escapedMarkup(target)}">${escapedMarkup(address)}</a>`,
  address: escapedMarkup,
};

/** An address in a text, with the marks of the sentence after it. */
const ADDRESS = /https?:\/\/[^\s<>"]+/gi;

/** Gives a text the forms of a medium. Its addresses are found, so that no escape breaks them. */
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

/** Gives a text that is one address the form of a medium. */
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
 * An address without the marks of the sentence after it. A bracket at its end stays when it opens in the address.
 * The time is linear in the length: the text may be an incident's, which a mail to each subscriber has.
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
