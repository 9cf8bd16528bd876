/**
 * This file writes HCL in the format of `terraform fmt`. It has only what
 * an export needs: attributes, blocks, literal values and references.
 */

/** An expression. It is written without quotes: `svc_http_monitor.api.id`, `var.password`. */
export class HclExpression {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HclValue =
  | string
  | number
  | boolean
  | HclExpression
  | readonly HclValue[]
  | { readonly [name: string]: HclValue };

export type HclBlock = {
  readonly type: string;
  readonly labels?: readonly string[];
  readonly attributes: Readonly<Record<string, HclValue>>;
  readonly blocks?: readonly HclBlock[];
};

/**
 * Maximum length of an attribute's name together with a list that is written on one
 * line, in characters. A longer list has one member per line. So has a list of objects.
 */
const LINE_WIDTH = 80;
const INDENT = '  ';

/** Writes a file of these blocks, with an empty line between them. */
export function hclFile(blocks: readonly HclBlock[]): string {
  return blocks.map((block) => `${blockLines(block).join('\n')}\n`).join('\n');
}

function blockLines({ type, labels = [], attributes, blocks = [] }: HclBlock): string[] {
  const head = [type, ...labels.map(hclString)].join(' ');
  const own = attributeLines(Object.entries(attributes));
  const nested = blocks.flatMap((block, index) => [
    ...(index > 0 || own.length > 0 ? [''] : []),
    ...blockLines(block),
  ]);
  if (own.length === 0 && nested.length === 0) return [`${head} {}`];
  return [`${head} {`, ...indented([...own, ...nested]), '}'];
}

/**
 * Writes attributes and aligns the `=` of neighbouring lines, as `terraform
 * fmt` does. The `=` of a value that takes several lines is not aligned.
 */
function attributeLines(attributes: readonly (readonly [string, HclValue])[]): string[] {
  const written = attributes.map(([name, value]) => ({ name, lines: valueLines(value, name.length) }));
  return written.flatMap(({ name, lines: [first = '', ...rest] }, index) => {
    const width = rest.length > 0 ? name.length : widthAround(written, index);
    return [`${name.padEnd(width)} = ${first}`, ...rest];
  });
}

/** Length of the longest name in the run of one-line attributes to which `index` belongs. */
function widthAround(written: readonly { name: string; lines: string[] }[], index: number): number {
  const isApart = ({ lines }: { lines: string[] }) => lines.length > 1;
  const start = written.findLastIndex((attribute, at) => at < index && isApart(attribute)) + 1;
  const end = written.findIndex((attribute, at) => at > index && isApart(attribute));
  const chain = written.slice(start, end === -1 ? written.length : end);
  return Math.max(...chain.map(({ name }) => name.length));
}

/**
 * The lines of a value.
 *
 * @param taken length of the attribute's name
 */
function valueLines(value: HclValue, taken: number): string[] {
  if (isList(value)) {
    const line = inline(value);
    if (taken + line.length <= LINE_WIDTH && !value.some(isMapping)) return [line];
    return ['[', ...indented(value.map((member) => `${inline(member)},`)), ']'];
  }
  if (!isMapping(value)) return [inline(value)];
  const members = Object.entries(value).map(([name, member]) => [hclKey(name), member] as const);
  return members.length === 0 ? ['{}'] : ['{', ...indented(attributeLines(members)), '}'];
}

function inline(value: HclValue): string {
  if (typeof value === 'string') return hclString(value);
  if (value instanceof HclExpression) return value.text;
  if (isList(value)) return `[${value.map(inline).join(', ')}]`;
  if (!isMapping(value)) return String(value);
  const members = Object.entries(value).map(([name, member]) => `${hclKey(name)} = ${inline(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? line : `${INDENT}${line}`));
}

function isList(value: HclValue): value is readonly HclValue[] {
  return Array.isArray(value);
}

function isMapping(value: HclValue): value is { readonly [name: string]: HclValue } {
  return typeof value === 'object' && !isList(value) && !(value instanceof HclExpression);
}

/** Writes the key of a mapping. A key that is a keyword or not an identifier is quoted. */
function hclKey(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) && !KEYWORDS.has(name) ? name : hclString(name);
}

const KEYWORDS = new Set(['for', 'null', 'true', 'false']);

/** Escape sequences of one letter (HCL native syntax, "Template Expressions"). */
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '"': '\\"',
  '\\': '\\\\',
};

/** Writes a quoted literal. `${` and `%{` would begin a template in HCL, so the `$` or `%` is doubled. */
export function hclString(text: string): string {
  const escaped = text.replace(UNSAFE, (character) => {
    const short = SHORT_ESCAPES[character];
    return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped.replace(/[$%]\{/g, (start) => start[0] + start)}"`;
}

/**
 * Matches quotes, backslashes, control characters, and characters
 * that some editors take for line ends or do not show.
 */
const UNSAFE = /["\\\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
