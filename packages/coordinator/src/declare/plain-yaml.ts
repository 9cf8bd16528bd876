import { isResourceKind, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMap } from 'yaml';
import type { RawEntry } from './declaration.ts';
import { SourceDocument } from './document.ts';

/** Entries that are parsed together: positions of so many are kept at a time. */
const ENTRIES_PER_PIECE = 100;

/** Entries of one kind that follow each other, as they are written. */
type Piece = {
  readonly kind: ResourceKind;
  /** Of its first line, from 1. */
  readonly line: number;
  /** Offsets of its first character and after its last. */
  readonly start: number;
  end: number;
  entries: number;
};

/**
 * The entries of a text in YAML's block style, a kind a section, read a hundred at a time: the memory is that of a
 * hundred. Null for whatever else, and where anything is wrong: a piece that was cut out of the middle of a value, or
 * that needs an anchor of another one, does not parse.
 */
export function plainYamlEntries(text: string): RawEntry[] | null {
  const pieces = piecesOf(text);
  // Without any, somebody must be told that the file is empty.
  if (pieces === null || pieces.length === 0) return null;
  const entries: RawEntry[] = [];
  for (const piece of pieces) {
    const found = entriesOf(text, piece);
    if (found === null) return null;
    entries.push(...found);
  }
  const addresses = new Set(entries.map(({ kind, name }) => `${kind}.${name}`));
  return addresses.size === entries.length ? entries : null;
}

/** A line that begins the section of a kind. */
const SECTION = /^(\w+):(?:\s+#.*)?$/;
const COMMENT = /^\s*#/;

function piecesOf(text: string): Piece[] | null {
  const pieces: Piece[] = [];
  const kinds = new Set<string>();
  let piece: Piece | null = null;
  /** Of the section's entries; null: none has come. */
  let indentation: number | null = null;
  for (const { line, number, start, end } of linesOf(text)) {
    const indented = line.length - line.trimStart().length;
    if (line !== '' && !COMMENT.test(line)) {
      if (indented === 0) {
        const kind = SECTION.exec(line)?.[1] ?? '';
        if (!isResourceKind(kind) || kinds.has(kind)) return null;
        kinds.add(kind);
        indentation = null;
        piece = { kind, line: number + 1, start: end, end, entries: 0 };
        pieces.push(piece);
      } else {
        indentation ??= indented;
        if (piece === null || indented < indentation) return null;
        if (indented === indentation) {
          if (piece.entries === ENTRIES_PER_PIECE) {
            piece = { kind: piece.kind, line: number, start, end, entries: 0 };
            pieces.push(piece);
          }
          piece.entries += 1;
        }
      }
    }
    if (piece !== null) piece.end = end;
  }
  return pieces;
}

/** The lines of a text without what is blank at their ends; numbers from 1, offsets with the line's end. */
function* linesOf(text: string): Generator<{ line: string; number: number; start: number; end: number }> {
  for (let start = 0, number = 1; start < text.length; number += 1) {
    const newLine = text.indexOf('\n', start);
    const end = newLine === -1 ? text.length : newLine + 1;
    yield { line: text.slice(start, end).trimEnd(), number, start, end };
    start = end;
  }
}

function entriesOf(text: string, piece: Piece): RawEntry[] | null {
  // A section may be empty.
  if (piece.entries === 0) return [];
  const document = new SourceDocument(text.slice(piece.start, piece.end));
  const { root } = document;
  if (!isMap(root)) return null;
  const entries = document.members(root).map(({ key, keyOffset, value }): RawEntry => {
    const { line, column } = document.position(keyOffset);
    const plain = document.plain(value, (written) => written);
    return { kind: piece.kind, name: key, line: piece.line + line - 1, column, value: plain };
  });
  return document.errors.length === 0 ? entries : null;
}
