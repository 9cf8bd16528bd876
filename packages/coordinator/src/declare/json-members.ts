/** Place of a member's key. Lines and columns count from 1. */
export type Place = { readonly line: number; readonly column: number };

/** Facts about a JSON text that `JSON.parse` does not return. */
export type JsonMembers = {
  /** Number of members of all mappings. A key that occurs twice counts twice. */
  readonly count: number;
  /** Places of the members of the root's members, by both keys: `svc_http_monitor.api`. */
  readonly places: ReadonlyMap<string, Place>;
};

/**
 * @param text valid JSON
 * @returns null when a key has an escape, because it is not known without parsing, or when a carriage return
 *   stands alone, which YAML does not treat as a line end
 */
export function jsonMembers(text: string): JsonMembers | null {
  const places = new Map<string, Place>();
  /** The open mappings (true) and lists (false), the outermost first. */
  const open: boolean[] = [];
  let count = 0;
  let isKeyNext = false;
  let rootKey = '';
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case NEW_LINE:
        line += 1;
        lineStart = at + 1;
        break;
      case CARRIAGE_RETURN:
        if (text.charCodeAt(at + 1) !== NEW_LINE) return null;
        break;
      case QUOTE: {
        const end = endOfText(text, at);
        if (isKeyNext) {
          isKeyNext = false;
          count += 1;
          const key = text.slice(at + 1, end);
          if (key.includes('\\')) return null;
          if (open.length === 1) rootKey = key;
          if (open.length === 2) places.set(`${rootKey}.${key}`, { line, column: at - lineStart + 1 });
        }
        at = end;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        isKeyNext = text.charCodeAt(at) === OPEN_BRACE;
        open.push(isKeyNext);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
      case COMMA:
        isKeyNext = open.at(-1) === true;
        break;
    }
  }
  return { count, places };
}

const NEW_LINE = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const BACKSLASH = 92;

/** Index of the quotation mark that ends the string that begins at `start`. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether an odd number of backslashes precedes the character. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
