import { Turns } from '@svc/shared/collections.ts';
import { RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { declaredRows } from '../../store/declaration/applied-declaration.ts';
import {
  findResources,
  namedByFile,
  RESOURCE_TABLES,
  type ResourceTable,
} from '../../store/declaration/resources.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import type { Readable } from '../../store/queries.ts';
import {
  isMonitorKind,
  MOST_TOGETHER,
  type ResourceKind,
  replacingAttributes,
  sameAttributes,
  TABLE_OF,
} from '../kinds/kind-tables.ts';
import { KINDS } from '../kinds/registry.ts';
import { storedIn } from '../reading.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referencesOf, resolveReferences } from './entry-references.ts';

/** A stored resource that the present declared file or an earlier one has named. */
export type NamedResource = {
  readonly kind: ResourceKind;
  /**
   * Null: the file no longer owns the resource, because the coordinator was
   * once started without a declared file. A file that declares the resource
   * again becomes its owner. If no file does, the resource does not change.
   */
  readonly owner: 'file' | null;
  readonly localName: string;
  readonly id: number;
};

/**
 * The normalized attributes of each resource, with ids as strings
 * and secrets in clear text. Removed resources are missing.
 */
type NamedAttributes = ReadonlyMap<NamedResource, object>;

/**
 * Finds all resources of the workspace that a declared file has named. The
 * resources of one table are in the order of their ids. The attributes are not
 * read, because the attributes of a hundred thousand monitors would take 66 MiB.
 */
export async function resourcesNamedByFile(source: Readable, workspaceId: number): Promise<NamedResource[]> {
  const found: NamedResource[] = [];
  for (const table of RESOURCE_TABLES) await addAll(found, source, table, workspaceId);
  return found;
}

async function addAll<T extends ResourceTable>(
  found: NamedResource[],
  source: Readable,
  table: T,
  workspaceId: number,
): Promise<void> {
  for await (const rows of namedByFile(source, table, workspaceId)) {
    for (const row of rows) {
      const { id, owner, local_name: localName } = row;
      if (localName === null) continue;
      found.push({ kind: KINDS[table].kindOf(row), owner: owner === 'file' ? 'file' : null, localName, id });
    }
  }
}

/**
 * Reads the attributes of these resources, which must all be
 * in one table. The event loop gets turns between the rows.
 *
 * @param source the store, or the transaction of a change
 */
async function attributesOfNamed(
  source: Readable,
  secrets: Secrets,
  workspaceId: number,
  resources: readonly NamedResource[],
): Promise<NamedAttributes> {
  const [first] = resources;
  if (first === undefined) return new Map();
  const table: ResourceTable = TABLE_OF[first.kind];
  const byId = new Map(resources.map((resource) => [resource.id, resource]));
  const rows = await findResources(source, table, workspaceId, [...byId.keys()]);
  const stored = await storedIn({ source, secrets, shown: 'open' }, table, rows);
  return new Map(
    stored.flatMap(({ id, attributes }) => {
      const resource = byId.get(id);
      return resource === undefined ? [] : [[resource, attributes]];
    }),
  );
}

/** An entry to write. `id`: the resource that is updated; null: a resource is created. */
export type Write = { readonly entry: DeclaredEntry; readonly id: number | null };

/** The changes that make the stored resources equal to the entries of the declared file. */
export type Plan = {
  /**
   * Resources that are removed before the writes, because they are no longer declared
   * or are replaced. A resource comes before the resources to which it refers.
   */
  readonly removals: readonly NamedResource[];
  /** Entries to write, in order of dependency. */
  readonly writes: readonly Write[];
  /** All declared channels, changed or not. */
  readonly channels: readonly DeclaredEntry[];
  /**
   * Monitors that are no longer declared. They are removed after
   * the writes, when no declared resource refers to them any more.
   */
  readonly monitorRemovals: readonly NamedResource[];
  /** Number of resources that the file owned before the change. */
  readonly owned: number;
  /** Number of owned resources that are no longer declared. Replaced resources are not counted. */
  readonly deletions: number;
};

/** Minimum number of owned resources from which svc protects against mass deletion. */
const GUARDED_COUNT = 10;

/** The stored resources before the change, and the plan that follows from them. */
export type Prepared = {
  /** The resources that the present file or an earlier one has named. */
  readonly resources: ReadonlyMap<Address, NamedResource>;
  readonly plan: Plan;
  /** Identifies the rows from which the plan was made; see {@link declaredRows}. */
  readonly rows: string;
};

/**
 * Reads the stored resources of the file, batch by batch, and compares them with the entries. For a
 * hundred thousand resources that takes seconds, so it happens before the transaction that changes them.
 *
 * @param parts.entries in order of dependency
 */
export async function prepareChanges(
  source: Readable,
  {
    secrets,
    workspaceId,
    entries,
  }: { secrets: Secrets; workspaceId: number; entries: readonly DeclaredEntry[] },
): Promise<Prepared> {
  // The versions of the rows are read before the resources, so that a change in between is noticed later.
  const rows = await declaredRows(source, workspaceId);
  const named = await resourcesNamedByFile(source, workspaceId);
  const resources = new Map(named.map((one) => [addressOf({ kind: one.kind, name: one.localName }), one]));
  const plan = await planChanges(entries, {
    resources,
    attributesOf: (some) => attributesOfNamed(source, secrets, workspaceId, some),
  });
  return { resources, plan, rows };
}

/** Whether the rows are still the ones from which the plan was made. */
export async function isStillTrue(
  source: Readable,
  { rows }: Prepared,
  workspaceId: number,
): Promise<boolean> {
  return (await declaredRows(source, workspaceId)) === rows;
}

/** What all resources of one batch have in common. */
type BatchKey = { readonly kind: ResourceKind; readonly isNew?: boolean };

/**
 * Splits resources into batches. A batch contains consecutive resources with
 * equal {@link BatchKey}, at most {@link MOST_TOGETHER} of their table.
 */
export function* batchesOfOneKind<T>(
  resources: Iterable<T>,
  of: (resource: T) => BatchKey,
): Generator<readonly T[]> {
  let some: T[] = [];
  let last: BatchKey | null = null;
  for (const resource of resources) {
    const key = of(resource);
    const isAlike = key.kind === last?.kind && key.isNew === last.isNew;
    if (last !== null && !(isAlike && some.length < MOST_TOGETHER[TABLE_OF[last.kind]])) {
      yield some;
      some = [];
    }
    some.push(resource);
    last = key;
  }
  if (some.length > 0) yield some;
}

/** The stored resources with which the entries are compared. */
type StoredSide = Pick<Prepared, 'resources'> & {
  /** Reads the attributes of the resources of one batch. */
  readonly attributesOf: (resources: readonly NamedResource[]) => Promise<NamedAttributes>;
};

/**
 * Compares the entries with the stored resources. The event loop gets turns between the entries.
 *
 * @param entries in order of dependency
 */
export async function planChanges(
  entries: readonly DeclaredEntry[],
  { resources, attributesOf }: StoredSide,
): Promise<Plan> {
  const turns = new Turns();
  /**
   * Owned resources whose entry was not found yet. The resources
   * that remain after the last entry are no longer declared.
   */
  const dropped = new Set([...resources.values()].filter(({ owner }) => owner === 'file'));
  const owned = dropped.size;
  /** Entries whose resource gets a new id. All entries that refer to one of them must be written too. */
  const renewed = new Set<Address>();
  const replaced: NamedResource[] = [];
  const writes: Write[] = [];
  const channels: DeclaredEntry[] = [];
  for (const some of batchesOfOneKind(entries, (entry) => entry)) {
    const present = await attributesOf(some.flatMap((entry) => resources.get(addressOf(entry)) ?? []));
    for (const entry of some) {
      await turns.giveTurn();
      if (entry.kind === 'svc_notification') channels.push(entry);
      const resource = resources.get(addressOf(entry));
      if (resource === undefined) {
        renewed.add(addressOf(entry));
        writes.push({ entry, id: null });
        continue;
      }
      dropped.delete(resource);
      const change = changeOf(entry, resource, present.get(resource), { resources, renewed });
      if (change === 'none') continue;
      if (change === 'replace') {
        replaced.push(resource);
        renewed.add(addressOf(entry));
      }
      writes.push({ entry, id: change === 'replace' ? null : resource.id });
    }
  }
  const gone = [...dropped];
  return {
    removals: dependentsFirst([...gone.filter((resource) => !isMonitor(resource)), ...replaced]),
    writes,
    channels,
    monitorRemovals: gone.filter(isMonitor),
    owned,
    deletions: gone.length,
  };
}

/**
 * Whether the operator must allow the plan: the file owns at least
 * {@link GUARDED_COUNT} resources, and more than half of them would be deleted.
 */
export function isMassDeletion({ owned, deletions }: Plan): boolean {
  return owned >= GUARDED_COUNT && deletions > owned / 2;
}

/**
 * Decides what must happen to the stored resource of an entry.
 *
 * @param present attributes of the stored resource; undefined: the resource
 *   was removed meanwhile. The transaction will notice the removal
 */
function changeOf(
  entry: DeclaredEntry,
  resource: NamedResource,
  present: object | undefined,
  { resources, renewed }: { resources: ReadonlyMap<Address, NamedResource>; renewed: ReadonlySet<Address> },
): 'none' | 'update' | 'replace' {
  if (present === undefined) return 'update';
  const isRenewed = referencesOf(entry.kind, entry.attributes).some(({ to }) => renewed.has(to));
  // A renewed entry has no id yet. It gets the empty string, which differs from every stored id.
  const idOf = (to: Address) => (renewed.has(to) ? '' : String(resources.get(to)?.id ?? ''));
  const attributes = resolveReferences(entry.kind, entry.attributes, idOf);
  const [wanted, was] = [attributes, present] as [Members, Members];
  if (replacingAttributes(entry.kind).some((name) => wanted[name] !== was[name])) return 'replace';
  const isKept = !isRenewed && resource.owner === 'file';
  return isKept && sameAttributes(attributes, present) ? 'none' : 'update';
}

type Members = Readonly<Record<string, unknown>>;

function isMonitor({ kind }: NamedResource): boolean {
  return isMonitorKind(kind);
}

function dependentsFirst(resources: readonly NamedResource[]): NamedResource[] {
  const rank = ({ kind }: NamedResource) => RESOURCE_KINDS.indexOf(kind);
  return resources.toSorted((a, b) => rank(b) - rank(a));
}
