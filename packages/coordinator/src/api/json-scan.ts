/**
 * Deepest nesting of lists and mappings. No resource has more than four levels, and walking many thousands
 * exhausts the stack.
 */
export const MOST_LEVELS = 32;
/**
 * Most values of all lists and mappings together: a little more than a notification for every monitor of a
 * large service has.
 */
export const MOST_VALUES = 150_000;

/**
 * Most keys of one mapping: many more than any resource has. Copying 70,000 between threads holds the main
 * thread for 60 ms.
 */
export const MOST_KEYS = 1_000;

type Open = { readonly keys: Set<string> | null; isKeyNext: boolean };

/**
 * Finds problems of a valid JSON text that `JSON.parse` does not report: a key twice in a mapping (which one
 * counts depends on the reader), the key `__proto__`, and too many levels, values or keys. Null: none.
 */
export function wrongInJson(text: string): string | null {
  const open: Open[] = [];
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    const within = open.at(-1);
    if (char === '"') {
      const end = endOfText(text, at);
      if (within?.isKeyNext === true) {
        const wrong = wrongKey(within, JSON.parse(text.slice(at, end + 1)) as string);
        if (wrong !== null) return wrong;
      }
      at = end;
    } else if (char === '{' || char === '[') {
      if (open.length >= MOST_LEVELS) return `the body is nested more than ${MOST_LEVELS} levels deep`;
      open.push({ keys: char === '{' ? new Set() : null, isKeyNext: char === '{' });
    } else if (char === '}' || char === ']') open.pop();
    else if (char === ',') {
      values += 1;
      if (values > MOST_VALUES) return `the body has more than ${MOST_VALUES} values`;
      if (within !== undefined) within.isKeyNext = within.keys !== null;
    }
  }
  return null;
}

function wrongKey(within: Open, key: string): string | null {
  within.isKeyNext = false;
  if (key === '__proto__') return 'the body has the key "__proto__", which no resource has';
  if (within.keys?.has(key) === true) {
    return `the body has a key twice: ${JSON.stringify(key.slice(0, 64))}`;
  }
  within.keys?.add(key);
  if ((within.keys?.size ?? 0) <= MOST_KEYS) return null;
  return `the body has a mapping with more than ${MOST_KEYS} keys`;
}

/** Index of the quotation mark that ends the string that begins at `start`. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
}
