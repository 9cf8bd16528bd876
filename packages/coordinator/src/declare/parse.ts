import { nearest } from '@svc/shared/nearest.ts';
import {
  type Issue,
  isResourceKind,
  parseResource,
  RESOURCE_KINDS,
  type ResourceKind,
} from '@svc/shared/resources/registry.ts';
import { isMap, type Node } from 'yaml';
import { clashes } from './clashes.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { type Member, offsetOf, SourceDocument } from './document.ts';
import { interpolate, type Sources } from './interpolate.ts';
import { isLocalName } from './local-name.ts';
import type { LocatedError } from './located-error.ts';
import { plainEntries } from './plain-entries.ts';
import {
  type FoundReference,
  misplacedReference,
  referenceIn,
  referenceProblem,
  referencesOf,
} from './references.ts';

export type ParsedDeclaration = {
  /** Entries in order of dependency. Use them only when there are no errors. */
  readonly entries: readonly DeclaredEntry[];
  /** All errors, by position. */
  readonly errors: readonly LocatedError[];
};

type WrittenEntry = Member & { readonly kind: ResourceKind };

/**
 * Reads a declaration: syntax, insertions, every resource, and references between them. All errors are found
 * at once. It is pure except for `sources`, which may be asked twice for the same thing.
 *
 * @param file name of the file, for errors
 */
export function parseDeclaration(text: string, file: string, sources: Sources): ParsedDeclaration {
  const plain = plainEntries(text, sources);
  return plain === null ? parsedWithPositions(text, file, sources) : { entries: plain, errors: [] };
}

/**
 * Like {@link parseDeclaration}, but keeps the position of every value, which takes up to four times as long
 * and twice the memory.
 */
export function parsedWithPositions(text: string, file: string, sources: Sources): ParsedDeclaration {
  const document = new SourceDocument(text);
  const entries = document.errors.length > 0 ? [] : readEntries(document, sources);
  const errors = document.errors
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => ({ file, ...document.position(offset), message }));
  return { entries, errors };
}

function readEntries(document: SourceDocument, sources: Sources): DeclaredEntry[] {
  const written = writtenEntries(document);
  const declared = new Set(written.map(({ kind, key }) => addressOf({ kind, name: key })));
  const entries = written.flatMap((entry) => readEntry(document, entry, declared, sources) ?? []);
  for (const { address, path, message } of clashes(entries)) {
    const entry = written.find(({ kind, key }) => addressOf({ kind, name: key }) === address);
    if (entry !== undefined) reportIssue(document, entry, { path, message });
  }
  const rank = (kind: ResourceKind) => RESOURCE_KINDS.indexOf(kind);
  return entries.sort((a, b) => rank(a.kind) - rank(b.kind));
}

function writtenEntries(document: SourceDocument): WrittenEntry[] {
  const { root } = document;
  if (root === null || (!isMap(root) && isNothing(root))) {
    document.report(0, 'the file is empty: write {} to declare nothing');
    return [];
  }
  if (!isMap(root)) {
    document.report(offsetOf(root), 'the file must be a mapping of resource types, like svc_http_monitor');
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
  const map = document.resolved(member.value);
  if (map === null || isNothing(map)) return [];
  if (!isMap(map)) {
    document.report(offsetOf(map), `${kind} must be a mapping of names, each with its attributes`);
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
  declared: ReadonlySet<Address>,
  sources: Sources,
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
  const value = document.plain(entry.value, (text, offset) => {
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
  const offsetAt = (path: Path) => document.locate(entry.value, path, entry.keyOffset);
  for (const reference of placedReferences(entry.kind, value)) {
    const offset = offsetAt(reference.path);
    count(offset, -1);
    const problem = referenceProblem(entry.kind, reference, declared);
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
    ...document.position(entry.keyOffset),
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
  reported: ReadonlySet<number> = new Set(),
): void {
  const offset = document.locate(entry.value, path, entry.keyOffset, isUnknown === true);
  if (reported.has(offset)) return;
  document.report(offset, `${[entry.kind, entry.key, ...path].join('.')}: ${message}`);
}
