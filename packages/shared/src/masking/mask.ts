import { MASK } from '../secret.ts';
import { unescapePercent } from '../url-secrets.ts';
import { onOneLine, SecretForms } from './secret-forms.ts';

/** Maximum size of an excerpt in UTF-8, bytes. A message that ends with the excerpt has less than 1 KiB. */
export const EXCERPT_BYTES = 900;

const ELLIPSIS = '…';

/**
 * The excerpt of a receiver's text that people may see: one line without control characters and secrets. A
 * secret that the excerpt's end would cut off is masked too. Only the shown part is searched for secrets, so
 * the search does not take longer for a longer text.
 *
 * @param bytes maximum number of bytes in UTF-8, > 3
 * @param isCut whether the text broke off, perhaps within a secret
 */
export function maskedExcerpt(
  text: string,
  secrets: readonly string[],
  bytes: number,
  isCut = false,
): string {
  const line = onOneLine(text);
  if (line === '') return '';
  const forms = new SecretForms(secrets, line, isCut);
  let shown = '';
  for (let at = 0; at < line.length && shown.length <= bytes; ) {
    const end = forms.endOf(at);
    shown += end > at ? MASK : line.charAt(at);
    at = Math.max(end, at + 1);
  }
  return beginning(shown, bytes);
}

/** The whole text, or its longest beginning that fits together with an ellipsis. */
function beginning(text: string, bytes: number): string {
  const room = new Uint8Array(bytes);
  const encoder = new TextEncoder();
  if (encoder.encodeInto(text, room).read === text.length) return text;
  const { read } = encoder.encodeInto(text, room.subarray(Buffer.byteLength(ELLIPSIS)));
  return `${text.slice(0, read)}${ELLIPSIS}`;
}

/**
 * The secrets in the query of an address: the whole query as written, and its values, both as written and
 * decoded. A name without a value may itself be a key: `?0123abcd`.
 */
export function querySecrets({ search, searchParams }: URL): string[] {
  const query = search.slice(1);
  const written = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const decoded = [...searchParams].map(([name, value]) => (value === '' ? name : value));
  return [query, ...written, ...decoded];
}

/** Minimum length of a segment of a path that may be a key. Shorter segments count as words. */
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

/** The secrets of an address that is a credential as a whole, such as the address of an incoming webhook. */
export function addressSecrets(address: string): string[] {
  const url = URL.parse(address);
  return url === null ? [address] : [...querySecrets(url), ...pathSecrets(url)];
}
