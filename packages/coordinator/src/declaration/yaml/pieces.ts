import { isResourceKind, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { CST, Lexer } from 'yaml';
import { isLocalName } from './declaration.ts';

/** A part of a declaration's text that is parsed alone, as a declaration of its own. */
export type Piece = {
  /** Kind of all entries in the piece; null: the piece is the whole text. */
  readonly kind: ResourceKind | null;
  /**
   * Text that is put in front of the part to make it a
   * valid declaration. `after`: text that is put behind it.
   */
  readonly before: string;
  readonly after: string;
  /**
   * Offset of the part's first character in the whole text. `end`: offset behind the part's last character.
   */
  readonly start: number;
  end: number;
};

/**
 * Maximum number of entries in a piece. `MOST_LENGTH`: length
 * from which a piece gets no further entry, in UTF-16 code units.
 */
const MOST_ENTRIES = 100;
const MOST_LENGTH = 65_536;

/**
 * Cuts a declaration between entries, so that memory holds the positions of only
 * a hundred entries at a time. The nodes of 100,000 monitors would take 2 GiB.
 *
 * The text stays one piece if it contains anything besides known resource types
 * with named entries, for example an alias, a second document, or a type that is
 * given twice. It also stays one piece if a closing quote or bracket is missing.
 */
export function piecesOf(text: string, mostEntries = MOST_ENTRIES): readonly Piece[] {
  return new Cutter(mostEntries).cut(text) ?? [wholePiece(text)];
}

export function wholePiece(text: string): Piece {
  return { kind: null, before: '', start: 0, end: text.length, after: '' };
}

type TokenType = CST.TokenType | null;

/** Tokens that make the text stay one piece. */
const UNCUT: ReadonlySet<TokenType> = new Set<TokenType>([
  'alias',
  'byte-order-mark',
  'directive-line',
  'doc-start',
  'doc-end',
  'flow-error-end',
]);

class Cutter {
  readonly #mostEntries: number;
  readonly #pieces: Piece[] = [];
  readonly #kinds = new Set<ResourceKind>();
  /** Number of open brackets. */
  #depth = 0;
  /** Whether the root is in brackets, as in JSON; null: the root has not begun. */
  #isFlow: boolean | null = null;
  /**
   * In block style: the column in which the entries of the present type begin; null before the first entry.
   */
  #column: number | null = null;
  /**
   * In brackets: the token that is expected next, outside
   * the entries of a type. `#type`: the last named type.
   */
  #next: 'type' | 'entries' | 'comma' = 'type';
  #type = '';
  #isEntryNext = false;
  /** Whether a colon must follow, because the last token was the name of a type or of an entry. */
  #isColonNext = false;
  /** Number of entries in the last piece. */
  #entries = 0;

  constructor(mostEntries: number) {
    this.#mostEntries = mostEntries;
  }

  /** Returns the pieces; null: the text must stay one piece. */
  cut(text: string): readonly Piece[] | null {
    let offset = 0;
    let isScalar = false;
    /** Whether the next scalar is the text of a block scalar. That text begins on its own line. */
    let isTextNext = false;
    /** Column of the next token when only blanks precede it on its line; null otherwise. */
    let column: number | null = 0;
    for (const token of new Lexer().lex(text)) {
      if (token === CST.SCALAR) {
        isScalar = true;
        continue;
      }
      if (token === CST.DOCUMENT) continue;
      const type = isScalar ? 'scalar' : CST.tokenType(token);
      isScalar = false;
      if (type === 'space' && column !== null) column = token.includes('\t') ? Number.NaN : token.length;
      const isBlank = type === 'space' || type === 'newline' || type === 'comment';
      // A comment between pieces would not be parsed, so a comment
      // with wrong syntax (no blank before it) would not be reported.
      if (type === 'comment' && this.#isFlow === true && this.#depth < 2) return null;
      if (!isBlank) {
        if (UNCUT.has(type) || isUnclosed(type, token)) return null;
        if (!this.#handleToken(type, token, offset, isTextNext ? null : column)) return null;
        // An empty token leaves the next token the first on its line.
        if (token !== '') column = null;
        isTextNext = type === 'block-scalar-header';
      }
      offset += token.length;
      if (token.endsWith('\n')) column = 0;
    }
    const last = this.#pieces.at(-1);
    if (last === undefined || this.#depth > 0 || this.#isColonNext) return null;
    if (this.#isFlow === false) last.end = text.length;
    return this.#pieces;
  }

  /** Handles a token. Returns false if the text must stay one piece. */
  #handleToken(type: TokenType, token: string, offset: number, column: number | null): boolean {
    this.#isFlow ??= type === 'flow-map-start';
    if (this.#isColonNext) {
      this.#isColonNext = false;
      return type === 'map-value-ind' && (this.#isFlow || column === null);
    }
    const isHandled = this.#isFlow
      ? this.#handleInBrackets(type, token, offset)
      : this.#depth > 0 || column === null || this.#beginLine(type, token, offset, column);
    if (type === 'flow-map-start' || type === 'flow-seq-start') this.#depth += 1;
    if (type === 'flow-map-end' || type === 'flow-seq-end') this.#depth -= 1;
    return isHandled;
  }

  #beginLine(type: TokenType, token: string, offset: number, column: number): boolean {
    if (column === 0) {
      this.#column = null;
      return (
        this.#handleName(type, token) && this.#beginSection(token, { before: '', start: offset, after: '' })
      );
    }
    const kind = this.#pieces.at(-1)?.kind;
    this.#column ??= column;
    if (kind === undefined || !(column >= this.#column)) return false;
    if (column > this.#column) return true;
    if (this.#isFull(offset)) this.#begin(kind, { before: `${kind}:\n`, start: offset - column, after: '' });
    this.#entries += 1;
    return this.#handleName(type, token);
  }

  #handleInBrackets(type: TokenType, token: string, offset: number): boolean {
    if (this.#depth === 0) return this.#pieces.length === 0;
    if (this.#depth > 2) return true;
    if (this.#depth === 2) return this.#handleEntry(type, token, offset);
    switch (this.#next) {
      case 'type':
        this.#next = 'entries';
        this.#type = nameIn(token);
        return type === 'flow-map-end' || this.#handleName(type, token);
      case 'entries': {
        this.#next = 'comma';
        this.#isEntryNext = true;
        const piece = { before: `{${this.#type}: {`, start: offset + 1, after: '}}' };
        return type === 'flow-map-start' && this.#beginSection(this.#type, piece);
      }
      case 'comma':
        this.#next = 'type';
        return type === 'comma' || type === 'flow-map-end';
      default:
        return this.#next satisfies never;
    }
  }

  #handleEntry(type: TokenType, token: string, offset: number): boolean {
    const last = this.#pieces.at(-1);
    if (last === undefined) return false;
    last.end = offset;
    if (type === 'flow-map-end') return true;
    if (type === 'flow-seq-end') return false;
    if (type === 'comma') {
      if (this.#isEntryNext) return false;
      this.#isEntryNext = true;
      if (this.#isFull(offset)) this.#begin(last.kind, { ...last, start: offset + 1 });
      return true;
    }
    if (!this.#isEntryNext) return true;
    this.#isEntryNext = false;
    this.#entries += 1;
    return this.#handleName(type, token);
  }

  /**
   * Handles the name of a type or entry, which a colon must follow. Returns false if the name is not valid.
   */
  #handleName(type: TokenType, token: string): boolean {
    this.#isColonNext = true;
    const isScalar = type === 'scalar' || type === 'single-quoted-scalar' || type === 'double-quoted-scalar';
    return isScalar && isLocalName(nameIn(token));
  }

  #isFull(offset: number): boolean {
    const { start } = this.#pieces.at(-1) ?? { start: offset };
    return this.#entries >= this.#mostEntries || offset - start >= MOST_LENGTH;
  }

  /** Begins the entries of a type. Returns false if the type is unknown, or was given before. */
  #beginSection(kind: string, piece: Pick<Piece, 'before' | 'start' | 'after'>): boolean {
    if (!isResourceKind(kind) || this.#kinds.has(kind)) return false;
    this.#kinds.add(kind);
    this.#begin(kind, piece);
    return true;
  }

  #begin(kind: ResourceKind | null, piece: Pick<Piece, 'before' | 'start' | 'after'>): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined && this.#isFlow === false) last.end = piece.start;
    this.#pieces.push({ ...piece, kind, end: piece.start });
    this.#entries = 0;
  }
}

/**
 * Whether a quoted scalar has no closing quote. To report the
 * position of this error, the parser needs all text after the scalar.
 */
function isUnclosed(type: TokenType, token: string): boolean {
  const isQuoted = type === 'single-quoted-scalar' || type === 'double-quoted-scalar';
  return isQuoted && (token.length === 1 || token.at(-1) !== token[0]);
}

/** Returns the name in a plain or quoted scalar. A valid name contains no escapes. */
function nameIn(token: string): string {
  return /^(["'])(.*)\1$/.exec(token)?.[2] ?? token;
}
