/** Shorter messages are not looked at: whatever is in them, parsing takes a millisecond. */
const LOOK_FROM_BYTES = 8 * 1_024;

/**
 * More than this of a character is in no agent's message. A heartbeat has a list for each of at most 16,000 jobs;
 * an acceptance quotes at most 512 reasons; the text of an error has up to 500 characters in each of 11 attempts.
 */
const MOST_LISTS = 20_000;
const MOST_QUOTES = 10_000;
const MOST_OBJECTS = 1_000;

const LIST = 0x5b; // [
const QUOTE = 0x22; // "
const OBJECT = 0x7b; // {

/**
 * Whether the text may be an agent's message, judged without parsing. `JSON.parse` takes 4 ms for the longest
 * heartbeat, and up to 75 ms for as many bytes of keys or of nested lists, during which no job is published.
 */
export function isWorthParsing(text: Uint8Array): boolean {
  if (text.length < LOOK_FROM_BYTES) return true;
  let lists = 0;
  let quotes = 0;
  let objects = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === LIST) lists += 1;
    else if (byte === QUOTE) quotes += 1;
    else if (byte === OBJECT) objects += 1;
  }
  return lists <= MOST_LISTS && quotes <= MOST_QUOTES && objects <= MOST_OBJECTS;
}
