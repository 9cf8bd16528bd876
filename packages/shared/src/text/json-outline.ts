/** Maximum number of parts of each sort that a JSON text may have. */
export type Outline = {
  readonly lists: number;
  readonly objects: number;
  /** Strings, the names of members included. */
  readonly texts: number;
  readonly commas: number;
};

const LIST = 0x5b; // [
const OBJECT = 0x7b; // {
const COMMA = 0x2c; // ,
const QUOTE = 0x22; // "
const BACKSLASH = 0x5c;

/**
 * Whether a JSON text has at most the parts of `most`. The text is not parsed, and the content of its strings
 * is skipped.
 *
 * `JSON.parse` takes 4 ms for the longest message that svc itself sends, and ten times as long for as many
 * bytes of names or of nested lists. During that time, the thread does nothing else. A text that is not JSON
 * is read to its end too.
 */
export function isWithinOutline(json: Uint8Array, most: Outline): boolean {
  let { lists, objects, texts, commas } = most;
  const { length } = json;
  for (let at = 0; at < length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      texts -= 1;
      at = endOfText(json, at + 1);
    } else if (byte === COMMA) commas -= 1;
    else if (byte === LIST) lists -= 1;
    else if (byte === OBJECT) objects -= 1;
  }
  return lists >= 0 && objects >= 0 && texts >= 0 && commas >= 0;
}

/** Index of the quote that ends the string. If no quote ends it, an index beyond the last byte. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from;
  for (let byte = json[at]; byte !== QUOTE && byte !== undefined; byte = json[at]) {
    at += byte === BACKSLASH ? 2 : 1;
  }
  return at;
}
