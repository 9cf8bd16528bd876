import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Piece } from './pieces.ts';

/** An error in the text. `offset` is counted in UTF-16 code units from the start of the whole text. */
export type SourceError = { readonly offset: number; readonly message: string };

export type Member = { readonly key: string; readonly keyOffset: number; readonly value: Node | null };

/** Returns the text that replaces a string of the document; null: the string is left out. */
export type TextHook = (text: string, offset: number) => string | null;

/**
 * Maximum number of values that aliases and merges may add. The bound is high enough for 15,000
 * monitors that share defaults, and low enough that the values cannot fill the memory.
 */
const MAX_ALIASED_NODES = 500_000;

/** Maximum depth of nested mappings and lists, levels. A declaration needs six levels at most. */
const MAX_DEPTH = 32;

/** The text of a declared file, with the offsets of its lines. */
export class SourceText {
  readonly text: string;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.text = text;
    let start = 0;
    do {
      this.#lines.addNewLine(start);
      start = text.indexOf('\n', start) + 1;
    } while (start > 0);
  }

  /** Returns line and column of an offset, both from 1. */
  position(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }
}

/** A parsed piece of a declared file, with the positions of its values. JSON is accepted, because it is YAML. */
export class SourceDocument {
  readonly errors: SourceError[] = [];
  /**
   * Set when an alias, a merge or a limit has left a value incomplete.
   * The caller may reset it before it reads the next value.
   */
  isBroken = false;
  /** The root of the piece; null when the text is empty or nested too deeply. */
  readonly root: Node | null;
  readonly #source: SourceText;
  readonly #piece: Piece;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #said = new Set<string>();
  readonly #followed = new Set<Node>();
  #aliasedNodes = 0;

  constructor(source: SourceText, piece: Piece) {
    this.#source = source;
    this.#piece = piece;
    const text = piece.before + source.text.slice(piece.start, piece.end) + piece.after;
    const document = this.#parsed(text);
    for (const problem of [...(document?.errors ?? []), ...(document?.warnings ?? [])]) {
      this.report(this.#offsetOfWhole(problem.pos[0]), yamlProblem(problem.code, problem.message));
    }
    this.root = document?.contents ?? null;
    this.#targets = document !== null && text.includes('*') ? targetsOf(document) : new Map();
  }

  #parsed(text: string): Document<Node> | null {
    try {
      // uniqueKeys is off because the library compares every key with
      // all others (quadratic time). members() finds repeated keys.
      return parseDocument(text, { uniqueKeys: false, prettyErrors: false }) as Document<Node>;
    } catch {
      // The parser is recursive, so a very deeply nested text overflows the stack.
      this.report(this.#piece.start, yamlProblem('RESOURCE_EXHAUSTION', ''));
      return null;
    }
  }

  /** Offset of a node from the start of the whole text. */
  offsetOf(node: Node): number {
    return this.#offsetOfWhole(node.range?.[0] ?? 0);
  }

  #offsetOfWhole(offset: number): number {
    const { before, start, end } = this.#piece;
    return Math.min(Math.max(start, offset - before.length + start), end);
  }

  /**
   * Reports an error, unless the same error was reported at the
   * same offset. Mappings are read several times to find positions.
   */
  report(offset: number, message: string): void {
    const said = `${offset} ${message}`;
    if (this.#said.has(said)) return;
    this.#said.add(said);
    this.errors.push({ offset, message });
  }

  reportTwice(key: string, offset: number, firstOffset: number): void {
    const { line } = this.#source.position(firstOffset);
    this.report(offset, `"${key}" is given twice: it is already in line ${line}`);
  }

  /** Reports an error and marks the value as incomplete. */
  #reportBroken(offset: number, message: string): void {
    this.isBroken = true;
    this.report(offset, message);
  }

  /**
   * Returns the target of an alias, and any other node unchanged.
   * When an alias has no target, reports an error and returns null.
   */
  resolveAlias(node: Node | null): Node | null {
    if (!isAlias(node)) return node;
    const target = this.#targets.get(node);
    if (target !== undefined) return target;
    this.#reportBroken(
      this.offsetOf(node),
      `the alias *${node.source} has no anchor &${node.source} before it`,
    );
    return null;
  }

  /**
   * Returns the members of a mapping. Reports keys that are not strings, and repeated keys, as errors. Merged
   * members (`<<`) come first. A member of the mapping itself replaces a merged member of the same name.
   */
  members(map: YAMLMap, depth = 0): Member[] {
    const own = new Map<string, Member>();
    const merged = new Map<string, Member>();
    for (const pair of map.items) {
      const keyNode = pair.key as Node;
      const value = (pair.value ?? null) as Node | null;
      const keyOffset = this.offsetOf(keyNode);
      if (!isScalar(keyNode) || typeof keyNode.value !== 'string') {
        this.report(keyOffset, 'a key must be a string: put it in quotes');
        continue;
      }
      const key = keyNode.value;
      if (key === '<<') {
        this.#merge(value, keyOffset, merged, depth);
        continue;
      }
      const first = own.get(key);
      if (first !== undefined) {
        this.reportTwice(key, keyOffset, first.keyOffset);
        continue;
      }
      own.set(key, { key, keyOffset, value });
    }
    for (const key of own.keys()) merged.delete(key);
    return [...merged.values(), ...own.values()];
  }

  #merge(value: Node | null, offset: number, into: Map<string, Member>, depth: number): void {
    const source = this.resolveAlias(value);
    const maps = isSeq(source) ? (source.items as Node[]) : [source];
    for (const item of maps) {
      const map = this.resolveAlias(item);
      if (!isMap(map) || depth > MAX_DEPTH) {
        this.#reportBroken(offset, '"<<" needs an alias of a mapping, or a list of such aliases');
        return;
      }
      for (const member of this.members(map, depth + 1)) {
        if (this.#isOverBudget(offset)) return;
        if (!into.has(member.key)) into.set(member.key, member);
      }
    }
  }

  /**
   * Returns the plain value of a node, with its strings replaced
   * by `onText`. Reports errors, and leaves out the wrong parts.
   */
  plainValue(node: Node | null, onText: TextHook, depth = 0): unknown {
    if (isAlias(node)) return this.#plainAliasValue(node, onText, depth);
    // Every node inside the target of an alias counts as a value that the alias adds.
    if (node !== null && this.#followed.size > 0 && this.#isOverBudget(this.offsetOf(node))) return undefined;
    if (isMap(node) || isSeq(node)) {
      if (depth > MAX_DEPTH) {
        this.#reportBroken(this.offsetOf(node), `nested more than ${MAX_DEPTH} levels deep`);
        return undefined;
      }
      if (isSeq(node))
        return node.items.map((item) => this.plainValue(item as Node | null, onText, depth + 1));
      const entries = this.members(node).map(({ key, value }) => [
        key,
        this.plainValue(value, onText, depth + 1),
      ]);
      return Object.fromEntries(entries);
    }
    if (!isScalar(node)) return null;
    if (typeof node.value !== 'string') return node.value;
    return onText(node.value, this.offsetOf(node)) ?? undefined;
  }

  #plainAliasValue(alias: Alias, onText: TextHook, depth: number): unknown {
    const target = this.resolveAlias(alias);
    if (target === null) return undefined;
    if (this.#followed.has(target)) {
      this.#reportBroken(this.offsetOf(alias), `the alias *${alias.source} contains itself`);
      return undefined;
    }
    this.#followed.add(target);
    const value = this.plainValue(target, onText, depth);
    this.#followed.delete(target);
    return value;
  }

  #isOverBudget(offset: number): boolean {
    this.#aliasedNodes += 1;
    if (this.#aliasedNodes === MAX_ALIASED_NODES + 1) {
      this.#reportBroken(offset, `aliases add more than ${MAX_ALIASED_NODES} values: write them out`);
    }
    return this.#aliasedNodes > MAX_ALIASED_NODES;
  }

  /**
   * Returns the offset of the value at `path`. With `atKey`, or if the value is empty, returns the offset of
   * the value's key. If `path` does not exist, returns the offset of the last value on the path that exists.
   *
   * @param fallback the result when no part of the path exists
   */
  offsetAtPath(
    node: Node | null,
    path: readonly (string | number)[],
    fallback: number,
    atKey = false,
  ): number {
    let current = node;
    let offset = path.length === 0 && node !== null ? this.offsetOf(node) : fallback;
    for (const [index, step] of path.entries()) {
      current = this.resolveAlias(current);
      if (isMap(current)) {
        const member = this.members(current).find(({ key }) => key === step);
        if (member === undefined) return offset;
        const isKeyMeant = atKey && index === path.length - 1;
        current = member.value;
        offset = current === null || isKeyMeant ? member.keyOffset : this.offsetOf(current);
      } else if (isSeq(current) && typeof step === 'number') {
        current = (current.items[step] ?? null) as Node | null;
        if (current === null) return offset;
        offset = this.offsetOf(current);
      } else return offset;
    }
    return offset;
  }
}

/**
 * Finds the target of each alias. If several nodes before the
 * alias define its anchor, the last of them is the target.
 */
function targetsOf(document: Document<Node>): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Alias(_key, alias) {
      const target = anchors.get(alias.source);
      if (target !== undefined) targets.set(alias, target);
    },
    Value(_key, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

/**
 * For each error code of the YAML library, the message of svc. The
 * library's own messages may quote the text, which may be secret.
 */
const WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias takes no anchor and no tag',
  BAD_ALIAS: 'the name of an anchor or alias is empty or ends with a colon',
  BAD_COLLECTION_TYPE: 'the tag does not fit its value: remove it',
  BAD_DIRECTIVE:
    'a line that begins with % is an instruction to YAML, and this one is unknown: put the text in quotes',
  BAD_DQ_ESCAPE: 'unknown escape after a backslash in double quotes: write \\\\, or use single quotes',
  BAD_INDENT:
    'the indentation does not fit: the entries of a mapping or list begin in the same column, and what belongs to a key is indented more',
  BAD_PROP_ORDER: 'anchors and tags stand after the dash or the colon',
  BAD_SCALAR_START: 'a text cannot begin with this character: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a mapping begins within a line: put the text in quotes, or begin the mapping in the next line',
  BLOCK_IN_FLOW: 'a mapping or list within brackets needs brackets too',
  DUPLICATE_KEY: 'a key is given twice',
  IMPOSSIBLE: 'the text cannot be read',
  KEY_OVER_1024_CHARS: 'a key has more than 1,024 characters',
  MISSING_CHAR: 'a character is missing',
  MULTILINE_IMPLICIT_KEY: 'a key is longer than its line: a colon may be missing before it',
  MULTIPLE_ANCHORS: 'a value takes one anchor',
  MULTIPLE_DOCS: 'a second document begins here: remove the line ---',
  MULTIPLE_TAGS: 'a value takes one tag',
  NON_STRING_KEY: 'a key must be a string: put it in quotes',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAB_AS_INDENT: 'tabs cannot indent: use blanks',
  TAG_RESOLVE_FAILED: 'the tag is unknown, or does not fit its value: remove it',
  UNEXPECTED_TOKEN: 'this does not belong here: remove it, or put the text in quotes',
};

/** Messages of svc about missing characters. Each has a pattern that the library's message matches. */
const MISSING: readonly (readonly [RegExp, string])[] = [
  [/^Missing closing (['"])/, 'a quote has no end'],
  [/end with a ([\]}])/, 'a bracket has no end, or its end is indented too little'],
  [/white space|space after/i, 'a blank is missing'],
  [/^Missing ,/, 'a comma is missing'],
  [/^Missing newline/, 'a line break is missing after an anchor or a tag'],
  [/^Block collection cannot start/, 'the line of --- cannot begin a mapping or list'],
  [/^Implicit map keys/, 'a key needs a colon and a value'],
  [/^Sequence item/, 'an entry of a list needs a dash'],
  [/directives-end/, 'the line --- is missing after the lines that begin with %'],
];

/**
 * Returns the message of svc for an error of the YAML library.
 *
 * @param said the library's message. It tells errors with the same code apart, and is not shown
 */
function yamlProblem(code: ErrorCode, said: string): string {
  const missing = MISSING.find(([pattern]) => pattern.test(said));
  return `invalid YAML: ${missing?.[1] ?? WORDS[code]}`;
}
