import {
  type Issue,
  isResourceKind,
  parseResource,
  RESOURCE_KINDS,
  type ResourceKind,
} from '@svc/shared/resources/registry.ts';
import { nearest } from '@svc/shared/text/nearest.ts';
import { isMap, type Node } from 'yaml';
import {
  type Address,
  addressOf,
  type DeclaredEntry,
  isLocalName,
  type LocatedError,
} from './declaration.ts';
import { type Member, SourceDocument, type SourceError, SourceText } from './document.ts';
import { interpolate, type Sources } from './interpolate.ts';
import { piecesOf } from './pieces.ts';
import {
  type FoundReference,
  misplacedReference,
  referenceIn,
  referenceProblem,
  referencesOf,
} from './references.ts';

type WrittenEntry = Member & { readonly kind: ResourceKind };

/** Entries that are handed over together. The thread that takes them over is held for about a millisecond. */
const TOGETHER = 100;

/**
 * Reads a declaration: syntax, insertions, every resource, and references between them. All errors are found
 * at once. It is pure except for `sources`, which may be asked twice for the same thing.
 *
 * The text is read in pieces of some entries, because the position of every value takes much memory. What is
 * known of the entries in other pieces are their addresses.
 *
 * @param file name of the file, for errors
 * @returns some entries at a time, in order of dependency, and then all errors, by position. Entries of a declaration
 *   with errors must not be used
 */
export function* readDeclaration(
  text: string,
  file: string,
  sources: Sources,
  pieces = piecesOf(text),
): Generator<readonly DeclaredEntry[], readonly LocatedError[]> {
  const source = new SourceText(text);
  const declaration: OpenDeclaration = { source, sources, places: new Map() };
  const syntaxErrors: SourceError[] = [];
  const errors: SourceError[] = [];
  let some: DeclaredEntry[] = [];
  for (const piece of pieces.toSorted((a, b) => rankOf(a.kind) - rankOf(b.kind))) {
    const document = new SourceDocument(source, piece);
    syntaxErrors.push(...document.errors);
    // What follows from wrong syntax would only confuse.
    if (syntaxErrors.length > 0) continue;
    for (const entry of readEntries(document, declaration)) {
      some.push(entry);
      if (some.length < TOGETHER) continue;
      yield some;
      some = [];
    }
    errors.push(...document.errors);
  }
  if (some.length > 0) yield some;
  return (syntaxErrors.length > 0 ? syntaxErrors : errors)
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => ({ file, ...source.position(offset), message }));
}

/** What is known while a declaration is read. */
type OpenDeclaration = {
  readonly source: SourceText;
  readonly sources: Sources;
  /** Offsets of the entries' names, also of entries with errors. */
  readonly places: Map<Address, number>;
};

/** Place in the order of dependency. */
function rankOf(kind: ResourceKind | null): number {
  return kind === null ? -1 : RESOURCE_KINDS.indexOf(kind);
}

function* readEntries(document: SourceDocument, declaration: OpenDeclaration): Generator<DeclaredEntry> {
  const written = writtenEntries(document).sort((a, b) => rankOf(a.kind) - rankOf(b.kind));
  for (const entry of written.filter((one) => isGivenOnce(document, one, declaration))) {
    const read = readEntry(document, entry, declaration);
    if (read !== null) yield read;
  }
}

/** Notes the entry. An entry whose name another piece has is reported. */
function isGivenOnce(
  document: SourceDocument,
  { kind, key, keyOffset }: WrittenEntry,
  { places }: OpenDeclaration,
): boolean {
  const address = addressOf({ kind, name: key });
  const first = places.get(address);
  if (first === undefined) places.set(address, keyOffset);
  else document.reportTwice(key, keyOffset, first);
  return first === undefined;
}

function writtenEntries(document: SourceDocument): WrittenEntry[] {
  const { root } = document;
  if (root === null || (!isMap(root) && isNothing(root))) {
    document.report(0, 'the file is empty: write {} to declare nothing');
    return [];
  }
  if (!isMap(root)) {
    document.report(
      document.offsetOf(root),
      'the file must be a mapping of resource types, like svc_http_monitor',
    );
    return [];
  }
  return document.members(root).flatMap((member) => {
    const { key: kind } = member;
    if (isResourceKind(kind)) return entriesOf(document, kind, member);
    // A place for anchors, as compose files have it.
    if (kind.startsWith('x-')) return [];
    const meant = nearest(kind, RESOURCE_KINDS);
    document.report(
      member.keyOffset,
      `"${kind}" is not a resource type: ${meant === null ? `there are ${RESOURCE_KINDS.join(', ')}` : `did you mean "${meant}"?`}`,
    );
    return [];
  });
}

function entriesOf(document: SourceDocument, kind: ResourceKind, member: Member): WrittenEntry[] {
  const map = document.resolveAlias(member.value);
  if (map === null || isNothing(map)) return [];
  if (!isMap(map)) {
    document.report(document.offsetOf(map), `${kind} must be a mapping of names, each with its attributes`);
    return [];
  }
  return document.members(map).flatMap((entry) => {
    if (isLocalName(entry.key)) return [{ ...entry, kind }];
    document.report(
      entry.keyOffset,
      `"${entry.key}" is not a name: use up to 128 letters, digits, underscores and hyphens, with a letter or underscore first`,
    );
    return [];
  });
}

function isNothing(node: Node): boolean {
  return 'value' in node && node.value === null;
}

/** Reads an entry; null, with errors reported, when it is not valid. */
function readEntry(
  document: SourceDocument,
  entry: WrittenEntry,
  { source, sources, places }: OpenDeclaration,
): DeclaredEntry | null {
  const errorsBefore = document.errors.length;
  // Strings with a known error. The schema's messages about them would only confuse.
  const reported = new Set<number>();
  const report = (offset: number, where: Path, message: string) => {
    if (reported.has(offset)) return;
    reported.add(offset);
    document.report(offset, `${[entry.kind, entry.key, ...where].join('.')}: ${message}`);
  };
  /**
   * Offsets of strings that are references, with the number of places where none is allowed. Aliases repeat
   * an offset.
   */
  const misplaced = new Map<number, number>();
  const count = (offset: number, by: number) => misplaced.set(offset, (misplaced.get(offset) ?? 0) + by);
  /** Texts that environment or files have a part in: no error repeats them. */
  const inserted = new Set<unknown>();
  document.isBroken = false;
  const value = document.plainValue(entry.value, (text, offset) => {
    const interpolated = interpolate(text, sources);
    if (!interpolated.ok) {
      report(offset, [], interpolated.message);
      return text;
    }
    if (text !== interpolated.text) inserted.add(interpolated.text);
    else if (referenceIn(text) !== null) count(offset, 1);
    return interpolated.text;
  });
  if (document.isBroken) return null;
  const isInserted = (path: Path) => inserted.has(valueAt(value, path));
  const offsetAt = (path: Path) => document.offsetAtPath(entry.value, path, entry.keyOffset);
  for (const reference of placedReferences(entry.kind, value)) {
    const offset = offsetAt(reference.path);
    count(offset, -1);
    const problem = referenceProblem(entry.kind, reference, places);
    if (problem === null) continue;
    report(offset, reference.path, isInserted(reference.path) ? WRONG_INSERTED_REFERENCE : problem);
  }
  for (const [offset, times] of misplaced) if (times > 0) report(offset, [], misplacedReference(entry.kind));
  const parsed = parseResource(entry.kind, value ?? {}, 'file');
  if (!parsed.ok) {
    for (const issue of parsed.issues) {
      const message = isInserted(issue.path) ? (issue.unquoted ?? issue.message) : issue.message;
      reportIssue(document, entry, { ...issue, message }, reported);
    }
  }
  if (!parsed.ok || document.errors.length > errorsBefore) return null;
  return {
    kind: entry.kind,
    name: entry.key,
    attributes: parsed.value,
    ...source.position(entry.keyOffset),
  } as DeclaredEntry;
}

type Path = Issue['path'];

const WRONG_INSERTED_REFERENCE = 'the reference that was inserted names nothing that this attribute takes';

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (found, step) =>
      typeof found === 'object' && found !== null
        ? (found as Record<string | number, unknown>)[step]
        : undefined,
    value,
  );
}

function placedReferences(kind: ResourceKind, value: unknown): readonly FoundReference[] {
  return typeof value === 'object' && value !== null
    ? referencesOf(kind, value as Record<string, unknown>)
    : [];
}

/**
 * Reports an issue. Several issues may be at one place (two members missing in one mapping), but not where an
 * error was reported before.
 */
function reportIssue(
  document: SourceDocument,
  entry: WrittenEntry,
  { path, message, isUnknown }: Issue,
  reported: ReadonlySet<number>,
): void {
  const offset = document.offsetAtPath(entry.value, path, entry.keyOffset, isUnknown === true);
  if (reported.has(offset)) return;
  document.report(offset, `${[entry.kind, entry.key, ...path].join('.')}: ${message}`);
}
