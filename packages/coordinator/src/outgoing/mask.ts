import { MASK } from '@svc/shared/secret.ts';
import { unescapePercent } from '@svc/shared/user-info.ts';

/** Shorter values are not masked: replacing them would garble the text and hide nothing. */
const SHORTEST = 4;
const SHORTEST_WORD = 8;

/**
 * Removes all secrets from `text`: whole, in the parts that a receiver is likely to repeat (the token of
 * `Bearer <token>`), and in the forms in which servers write texts into URLs, JSON and HTML.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  const patterns = new Set<string>();
  for (const secret of secrets) {
    if (secret.length >= SHORTEST) addForms(patterns, secret);
    for (const word of secret.split(/\s+/)) if (word.length >= SHORTEST_WORD) addForms(patterns, word);
  }
  // The longest comes first, so that a secret that contains another one is replaced as a whole.
  const ordered = [...patterns].sort((a, b) => b.length - a.length);
  return ordered.reduce((masked, pattern) => masked.replaceAll(pattern, MASK), text);
}

function addForms(patterns: Set<string>, secret: string): void {
  patterns.add(secret);
  patterns.add(encodeURIComponent(secret.toWellFormed()));
  const inJson = JSON.stringify(secret).slice(1, -1);
  patterns.add(inJson);
  // PHP escapes slashes; Go, Java and Django escape what has a meaning in HTML.
  patterns.add(inJson.replaceAll('/', '\\/'));
  patterns.add(inJson.replace(/[&<>]/g, asUnicodeEscape));
  patterns.add(inJson.replace(/[&<>'=]/g, asUnicodeEscape));
  for (const quote of QUOTES_IN_HTML)
    patterns.add(escapedMarkup(secret).replaceAll('"', quote.double).replaceAll("'", quote.single));
}

const QUOTES_IN_HTML = [
  { double: '&quot;', single: '&#39;' },
  { double: '&quot;', single: '&#x27;' },
  { double: '&quot;', single: '&#039;' },
  { double: '&#34;', single: '&#39;' },
  { double: '"', single: "'" },
];

function asUnicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function escapedMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * The query of an address and its values, as written and decoded. A name without a value may be a key itself:
 * `?0123abcd`.
 */
export function querySecrets({ search, searchParams }: URL): string[] {
  const query = search.slice(1);
  const written = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const decoded = [...searchParams].map(([name, value]) => (value === '' ? name : value));
  return [query, ...written, ...decoded];
}

/** Shortest segment of a path that may be a key. Shorter ones are words. */
const SHORTEST_KEY = 8;

/**
 * The segments of a path that may be keys, as written and without percent-encoding, because receivers repeat
 * either form.
 */
export function pathSecrets({ pathname }: URL): string[] {
  return pathname
    .split('/')
    .flatMap((segment) => [segment, unescapePercent(segment)])
    .filter(({ length }) => length >= SHORTEST_KEY);
}

/** The secrets of an address that is a credential as a whole, like that of an incoming webhook. */
export function addressSecrets(address: string): string[] {
  const url = URL.parse(address);
  return url === null ? [address] : [...querySecrets(url), ...pathSecrets(url)];
}

/** At most `length` UTF-16 code units of `text`, on one line and without control characters. */
export function excerptOf(text: string, length: number): string {
  const line = text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/g, ' ')
    .trim()
    .toWellFormed();
  return line.length <= length ? line : `${line.slice(0, length - 1).toWellFormed()}…`;
}
