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
  readonly lines: string[];
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
    const found = entriesOf(piece);
    if (found === null) return null;
    entries.push(...found);
  }
  const addresses = new Set(entries.map(({ kind, name }) => `${kind}.${name}`));
  return addresses.size === entries.length ? entries : null;
}

/** A line that begins the section of a kind. */
const SECTION = /^(\w+):[ \t]*(?:#.*)?$/;
const BLANK = /^\s*(?:#.*)?$/;

function piecesOf(text: string): Piece[] | null {
  const pieces: Piece[] = [];
  const kinds = new Set<string>();
  let piece: Piece | null = null;
  /** Of the section's entries; null: none has come. */
  let indentation: number | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const indented = line.length - line.trimStart().length;
    if (BLANK.test(line.trimEnd())) piece?.lines.push(line);
    else if (indented === 0) {
      const kind = SECTION.exec(line.trimEnd())?.[1] ?? '';
      if (!isResourceKind(kind) || kinds.has(kind)) return null;
      kinds.add(kind);
      indentation = null;
      piece = { kind, line: index + 2, lines: [], entries: 0 };
      pieces.push(piece);
    } else {
      indentation ??= indented;
      if (piece === null || indented < indentation) return null;
      if (indented === indentation) {
        if (piece.entries === ENTRIES_PER_PIECE) {
          piece = { kind: piece.kind, line: index + 1, lines: [], entries: 0 };
          pieces.push(piece);
        }
        piece.entries += 1;
      }
      piece.lines.push(line);
    }
  }
  return pieces;
}

function entriesOf(piece: Piece): RawEntry[] | null {
  // A section may be empty.
  if (piece.entries === 0) return [];
  const document = new SourceDocument(piece.lines.join('\n'));
  const { root } = document;
  if (!isMap(root)) return null;
  const entries = document.members(root).map(({ key, keyOffset, value }): RawEntry => {
    const { line, column } = document.position(keyOffset);
    const { kind } = piece;
    return {
      kind,
      name: key,
      line: piece.line + line - 1,
      column,
      value: document.plain(value, (text) => text),
    };
  });
  return document.errors.length === 0 ? entries : null;
}
