import { isResourceKind, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMap, isScalar } from 'yaml';
import type { RawEntry } from './declaration.ts';
import { SourceDocument } from './document.ts';

/** Number of entries that are parsed together. Positions are kept for only this many at a time. */
const ENTRIES_PER_PIECE = 100;

/** Consecutive entries of one kind, as they are written. */
type Piece = {
  readonly kind: ResourceKind;
  /** Number of its first line, from 1. */
  readonly line: number;
  /** Offset of its first character; `end` is the offset after its last. */
  readonly start: number;
  end: number;
  entries: number;
};

/**
 * Reads the entries of a text in YAML's block style with one section for each kind. It reads a hundred
 * entries at a time, so it needs the memory of a hundred. It returns null for any other text, and for a text
 * with an error: a piece that was cut out of the middle of a value, or that needs an anchor of another piece,
 * does not parse.
 */
export function plainYamlEntries(text: string): RawEntry[] | null {
  const pieces = piecesOf(text);
  // Without any entry, the error about an empty file must be reported.
  if (pieces === null || pieces.length === 0) return null;
  const entries: RawEntry[] = [];
  for (const piece of pieces) {
    const found = entriesOf(text, piece);
    if (found === null) return null;
    // In flow style all entries are in one piece: too many for the arguments of a call.
    for (const entry of found) entries.push(entry);
  }
  const addresses = new Set(entries.map(({ kind, name }) => `${kind}.${name}`));
  return addresses.size === entries.length ? entries : null;
}

/** A line without trailing blanks. Numbers count from 1, and `end` lies after the line end. */
type Line = { readonly text: string; readonly number: number; readonly start: number; readonly end: number };

/** Cuts the text into pieces; null when it has another style. */
function piecesOf(text: string): Piece[] | null {
  const cutter = new Cutter();
  for (const line of linesOf(text)) if (!cutter.take(line)) return null;
  return cutter.pieces;
}

function* linesOf(text: string): Generator<Line> {
  for (let start = 0, number = 1; start < text.length; number += 1) {
    const newLine = text.indexOf('\n', start);
    const end = newLine === -1 ? text.length : newLine + 1;
    yield { text: withoutBlanksAtEnd(text, start, end), number, start, end };
    start = end;
  }
}

/** Removes trailing blanks as YAML defines them. */
function withoutBlanksAtEnd(text: string, start: number, end: number): string {
  let last = end;
  while (last > start && ' \t\r\n'.includes(text.charAt(last - 1))) last -= 1;
  return text.slice(start, last);
}

/** Matches a line that begins the section of a kind. */
const SECTION = /^(\w+):(?:[ \t]+#.*)?$/;
const BLANK = /^[ \t]*(?:#.*)?$/;

/** Cuts a text before entries: before lines with the indentation of the first entry of their section. */
class Cutter {
  readonly pieces: Piece[] = [];
  readonly #kinds = new Set<ResourceKind>();
  /** Indentation of the section's entries; null before the first. */
  #indentation: number | null = null;

  /** Takes a line; false when the line does not fit this style. */
  take(line: Line): boolean {
    const isTaken = BLANK.test(line.text) || this.#takeWritten(line);
    const piece = this.pieces.at(-1);
    if (piece !== undefined) piece.end = line.end;
    return isTaken;
  }

  #takeWritten(line: Line): boolean {
    const indented = line.text.search(/[^ ]/);
    return indented === 0 ? this.#beginSection(line) : this.#goOn(line, indented);
  }

  #beginSection({ text, number, end }: Line): boolean {
    const kind = SECTION.exec(text)?.[1] ?? '';
    if (!isResourceKind(kind) || this.#kinds.has(kind)) return false;
    this.#kinds.add(kind);
    this.#indentation = null;
    this.pieces.push({ kind, line: number + 1, start: end, end, entries: 0 });
    return true;
  }

  #goOn({ number, start, end }: Line, indented: number): boolean {
    const piece = this.pieces.at(-1);
    this.#indentation ??= indented;
    if (piece === undefined || indented < this.#indentation) return false;
    if (indented > this.#indentation) return true;
    if (piece.entries < ENTRIES_PER_PIECE) piece.entries += 1;
    else this.pieces.push({ kind: piece.kind, line: number, start, end, entries: 1 });
    return true;
  }
}

function entriesOf(text: string, piece: Piece): RawEntry[] | null {
  // A section may be empty.
  if (piece.entries === 0) return [];
  const document = new SourceDocument(text.slice(piece.start, piece.end));
  const { root } = document;
  // Merged members come before all entries, including those of earlier pieces.
  if (!isMap(root) || root.items.some(({ key }) => isScalar(key) && key.value === '<<')) return null;
  const entries = document.members(root).map(({ key, keyOffset, value }): RawEntry => {
    const { line, column } = document.position(keyOffset);
    const plain = document.plain(value, (written) => written);
    return { kind: piece.kind, name: key, line: piece.line + line - 1, column, value: plain };
  });
  return document.errors.length === 0 ? entries : null;
}
