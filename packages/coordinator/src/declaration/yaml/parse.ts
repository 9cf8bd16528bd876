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
 * Maximum number of entries in one message between the threads. The
 * main thread is blocked for about 1 ms while it receives them.
 */
const TOGETHER = 100;

/**
 * Reads a declaration: its syntax, insertions, resources, and the references between them. One reading
 * finds the errors of all entries, but errors of syntax hide all others, and an error in an alias hides
 * the other errors of its entry. The rules of the operator, and conflicts with resources outside the file,
 * are checked later, when the resources are written. The function is pure except for its calls of
 * `sources`. It may read a source several times.
 *
 * The text is read piece by piece, because the positions of all values would take much memory. Of earlier
 * pieces, only the addresses of the entries are known, and what {@link Clashes} compares.
 *
 * @param file name of the file, for errors
 * @returns a generator that yields lists of entries in order of dependency, and
 *   returns all errors by position. If there are errors, the entries must not be used
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
    // Errors that are found from here on might only follow from the wrong syntax.
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
  /** Offset of each entry's name. Entries with errors are included. */
  readonly places: Map<Address, number>;
  readonly clashes: Clashes;
};

/** Position of a kind in the order of dependency; -1 for the piece that is the whole text and has no kind. */
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
 * Records the offset of an entry. If an earlier entry has
 * the same address, reports an error and returns false.
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
    // A member whose name begins with `x-` is ignored. It may contain
    // anchors that other members use, as in Docker Compose files.
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

/** Reads an entry. If the entry is not valid, reports its errors and returns null. */
function readEntry(
  document: SourceDocument,
  entry: WrittenEntry,
  { source, sources, places, clashes }: OpenDeclaration,
): DeclaredEntry | null {
  const errorsBefore = document.errors.length;
  // Offsets at which this function has reported an error. Issues of the schema at these offsets are dropped.
  const reported = new Set<number>();
  const report = (offset: number, where: Path, message: string) => {
    if (reported.has(offset)) return;
    reported.add(offset);
    document.report(offset, `${[entry.kind, entry.key, ...where].join('.')}: ${message}`);
  };
  /**
   * For each reference, by its offset: how many of its uses are in attributes
   * that accept no references. A string with an anchor may be used several times.
   */
  const misplaced = new Map<number, number>();
  const count = (offset: number, by: number) => misplaced.set(offset, (misplaced.get(offset) ?? 0) + by);
  /** Strings with inserted parts, which may be secret. So no error repeats these strings. */
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
  const parsed = parseResource(entry.kind, value ?? {}, 'file', sources.regions);
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

/** Two entries break a rule together. The error is reported at the later entry. */
type Clash = { readonly path: readonly string[]; readonly message: string };

/**
 * Finds conflicts between entries that are valid by themselves. The transaction would find these
 * conflicts too. But its messages would contain ids of resources that no longer exist after the rollback.
 */
class Clashes {
  /** For each slug and custom domain, the address of the entry that uses it. */
  readonly #takenBy = new Map<string, Address>();
  readonly #pageOfGroup = new Map<Address, string>();

  /**
   * Finds the conflicts of an entry with earlier entries. Call it for all entries, in order of dependency.
   */
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

  /** Finds slugs and custom domains that an earlier status page has already. */
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

  /** Finds a component whose group is on another page. */
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
 * Reports an issue of the schema, unless `reported` contains its offset. Several
 * issues may have the same offset, for example two missing members of one mapping.
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
