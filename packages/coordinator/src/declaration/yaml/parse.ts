import {
  type Issue,
  isResourceKind,
  parseResource,
  RESOURCE_KINDS,
  type ResourceKind,
  type Resources,
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
import {
  type FoundReference,
  misplacedReference,
  referenceIn,
  referenceProblem,
  referencesOf,
} from './entry-references.ts';
import { interpolate, type Sources } from './interpolate.ts';
import { piecesOf } from './pieces.ts';

type WrittenEntry = Member & { readonly kind: ResourceKind };

/**
 * Number of entries in one message between the threads. Receiving them blocks the main thread for about 1 ms.
 */
const TOGETHER = 100;

/**
 * Reads a declaration: syntax, insertions, resources, and references between them. All errors are
 * found in one reading, except conflicts with resources outside the file, which the transaction
 * finds. The function is pure except for its reads of `sources`. It may read a source twice.
 *
 * The text is read piece by piece, because the positions of all values take much memory.
 * While one piece is read, only the addresses of the entries in other pieces are known.
 *
 * @param file name of the file, for errors
 * @returns yields lists of entries in order of dependency, and returns all errors by position. If there are
 *   errors, the entries must not be used
 */
export function* readDeclaration(
  text: string,
  file: string,
  sources: Sources,
  pieces = piecesOf(text),
): Generator<readonly DeclaredEntry[], readonly LocatedError[]> {
  const source = new SourceText(text);
  const declaration: OpenDeclaration = { source, sources, places: new Map(), clashes: new Clashes() };
  const syntaxErrors: SourceError[] = [];
  const errors: SourceError[] = [];
  let some: DeclaredEntry[] = [];
  for (const piece of pieces.toSorted((a, b) => rankOf(a.kind) - rankOf(b.kind))) {
    const document = new SourceDocument(source, piece);
    syntaxErrors.push(...document.errors);
    // Further errors would only follow from the wrong syntax.
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

/** State while one declaration is read. */
type OpenDeclaration = {
  readonly source: SourceText;
  readonly sources: Sources;
  /** Offset of each entry's name, including entries with errors. */
  readonly places: Map<Address, number>;
  readonly clashes: Clashes;
};

/**
 * Position of a kind in the order of dependency; -1: there is no kind, because the piece is the whole text.
 */
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

/**
 * Records the offset of an entry. Reports an error and
 * returns false when an earlier entry has the same address.
 */
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
    // Members whose names begin with `x-` are ignored. They may
    // contain anchors for use elsewhere, as in Docker Compose files.
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

/** Reads an entry. When the entry is not valid, reports errors and returns null. */
function readEntry(
  document: SourceDocument,
  entry: WrittenEntry,
  { source, sources, places, clashes }: OpenDeclaration,
): DeclaredEntry | null {
  const errorsBefore = document.errors.length;
  // Offsets at which an error is already reported. Issues of the schema at the same offsets are dropped.
  const reported = new Set<number>();
  const report = (offset: number, where: Path, message: string) => {
    if (reported.has(offset)) return;
    reported.add(offset);
    document.report(offset, `${[entry.kind, entry.key, ...where].join('.')}: ${message}`);
  };
  /**
   * For each string that is a reference, by its offset: how often it is used in a place
   * that accepts no reference. A string with an anchor may be used several times.
   */
  const misplaced = new Map<number, number>();
  const count = (offset: number, by: number) => misplaced.set(offset, (misplaced.get(offset) ?? 0) + by);
  /** Texts with inserted parts. Inserted parts may be secret, so no error repeats these texts. */
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
  const read = {
    kind: entry.kind,
    name: entry.key,
    attributes: parsed.value,
    ...source.position(entry.keyOffset),
  } as DeclaredEntry;
  for (const clash of clashes.clashesOf(read)) reportIssue(document, entry, clash);
  return read;
}

/** A broken rule that involves two entries. The error is reported at the later entry. */
type Clash = { readonly path: readonly string[]; readonly message: string };

/**
 * Finds conflicts between entries that are valid by themselves. The transaction would find these
 * conflicts too, but its messages would name ids, which no longer exist after the rollback.
 */
class Clashes {
  /** For each slug and custom domain, the address of the entry that uses it. */
  readonly #takenBy = new Map<string, Address>();
  readonly #pageOfGroup = new Map<Address, string>();

  /** Finds the conflicts of an entry with earlier entries. Call it for the entries in order of dependency. */
  clashesOf(entry: DeclaredEntry): Clash[] {
    switch (entry.kind) {
      case 'svc_status_page':
        return this.#sharedNames(addressOf(entry), entry.attributes);
      case 'svc_status_page_component_group':
        this.#pageOfGroup.set(addressOf(entry), entry.attributes.page_id);
        return [];
      case 'svc_status_page_component':
        return this.#groupOfOtherPage(entry.attributes);
      default:
        return [];
    }
  }

  /** Slugs and custom domains must be unique. */
  #sharedNames(address: Address, attributes: Resources['svc_status_page']): Clash[] {
    return (['slug', 'custom_domain'] as const).flatMap((name) => {
      const value = attributes[name];
      if (value === null) return [];
      const first = this.#takenBy.get(`${name} ${value}`);
      if (first !== undefined) return [{ path: [name], message: `is taken by ${first}` }];
      this.#takenBy.set(`${name} ${value}`, address);
      return [];
    });
  }

  /** A component and its group must belong to the same page. */
  #groupOfOtherPage({ group_id, page_id }: Resources['svc_status_page_component']): Clash[] {
    const group = referenceIn(group_id);
    const page = group === null ? undefined : this.#pageOfGroup.get(group);
    if (page === undefined || page === page_id) return [];
    return [{ path: ['group_id'], message: 'is a group of another page' }];
  }
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
 * Reports an issue of the schema. Several issues may have the same offset, like two missing members
 * of a mapping. An issue is dropped when an error that is no issue was reported at its offset.
 */
function reportIssue(
  document: SourceDocument,
  entry: WrittenEntry,
  { path, message, isUnknown }: Issue,
  reported: ReadonlySet<number> = new Set(),
): void {
  const offset = document.offsetAtPath(entry.value, path, entry.keyOffset, isUnknown === true);
  if (reported.has(offset)) return;
  document.report(offset, `${[entry.kind, entry.key, ...path].join('.')}: ${message}`);
}
