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
import type { Readable } from '../../store/reading-of.ts';
import {
  isMonitorKind,
  MOST_TOGETHER,
  type ResourceKind,
  replacingAttributes,
  sameAttributes,
  TABLE_OF,
} from '../kinds/kinds.ts';
import { KINDS } from '../kinds/registry.ts';
import { storedIn } from '../reading.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referencesOf, resolveReferences } from './references.ts';

/** A stored resource that a declared file declares, or declared before. */
export type NamedResource = {
  readonly kind: ResourceKind;
  /**
   * Null: a start without a file released it. It is taken over when it is declared again, and otherwise left
   * alone.
   */
  readonly owner: 'file' | null;
  readonly localName: string;
  readonly id: number;
};

/** Normalized attributes of resources, with ids as text and secrets in clear. Resources that are gone are missing. */
type NamedAttributes = ReadonlyMap<NamedResource, object>;

/**
 * All resources of the workspace that a declared file named, each table by ascending id: the present side of the
 * file's diff, without attributes, which would take 66 MiB for a hundred thousand monitors.
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
 * The attributes of these resources, all of one table. The event loop gets turns in between.
 *
 * @param source the transaction inside a change, so that the diff fits the rows that it will change;
 *   otherwise the store
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

/** An entry to create (`id` null) or to change. */
export type Write = { readonly entry: DeclaredEntry; readonly id: number | null };

/** The changes that make the stored resources equal to the declared ones. */
export type Plan = {
  /**
   * Resources to remove first, because they are no longer declared or are created anew. Dependents come
   * before the resources that they depend on.
   */
  readonly removals: readonly NamedResource[];
  /** Entries to write, in order of dependency. */
  readonly writes: readonly Write[];
  /** All entries that are channels. */
  readonly channels: readonly DeclaredEntry[];
  /**
   * Monitors that are no longer declared. They are removed last, when nothing declared refers to them any
   * more.
   */
  readonly monitorRemovals: readonly NamedResource[];
  /** Number of resources that the file owned before. */
  readonly owned: number;
  /** Number of those that are no longer declared, without those that are created anew. */
  readonly deletions: number;
};

/** Number of owned resources from which the guard against mass deletion applies. */
const GUARDED_COUNT = 10;

/** The stored side of the file's diff, and the changes that follow from it. */
export type Prepared = {
  /** Resources that the file owns, and those that an earlier file declared. */
  readonly resources: ReadonlyMap<Address, NamedResource>;
  readonly plan: Plan;
  /** The rows that this follows from; see {@link declaredRows}. */
  readonly rows: string;
};

/**
 * Reads and compares all declared resources, some at a time. That takes seconds where there are a hundred thousand, so
 * it is done before the transaction that changes them.
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
  // This comes before reading, so that a change in between is noticed.
  const rows = await declaredRows(source, workspaceId);
  const named = await resourcesNamedByFile(source, workspaceId);
  const resources = new Map(named.map((one) => [addressOf({ kind: one.kind, name: one.localName }), one]));
  const plan = await planChanges(entries, {
    resources,
    attributesOf: (some) => attributesOfNamed(source, secrets, workspaceId, some),
  });
  return { resources, plan, rows };
}

/** Whether nobody has changed the rows since. */
export async function isStillTrue(
  source: Readable,
  { rows }: Prepared,
  workspaceId: number,
): Promise<boolean> {
  return (await declaredRows(source, workspaceId)) === rows;
}

/** What tells resources apart that are not read or written together. */
type Head = { readonly kind: ResourceKind; readonly isNew?: boolean };

/** Consecutive resources of one kind, as many as are read or written together. */
export function* ofOneKind<T>(resources: Iterable<T>, of: (resource: T) => Head): Generator<readonly T[]> {
  let some: T[] = [];
  let last: Head | null = null;
  for (const resource of resources) {
    const head = of(resource);
    const isAlike = head.kind === last?.kind && head.isNew === last.isNew;
    if (last !== null && !(isAlike && some.length < MOST_TOGETHER[TABLE_OF[last.kind]])) {
      yield some;
      some = [];
    }
    some.push(resource);
    last = head;
  }
  if (some.length > 0) yield some;
}

/** The stored side of the comparison. */
type StoredSide = Pick<Prepared, 'resources'> & {
  /** Reads the attributes of a few resources of one table. */
  readonly attributesOf: (resources: readonly NamedResource[]) => Promise<NamedAttributes>;
};

/**
 * Compares the declaration with the stored resources. The event loop gets turns in between.
 *
 * @param entries entries in order of dependency
 */
export async function planChanges(
  entries: readonly DeclaredEntry[],
  { resources, attributesOf }: StoredSide,
): Promise<Plan> {
  const turns = new Turns();
  /** Owned resources that are not declared; at first all of them. */
  const dropped = new Set([...resources.values()].filter(({ owner }) => owner === 'file'));
  const owned = dropped.size;
  /** Entries that get a new id. Resources that refer to them are written too. */
  const renewed = new Set<Address>();
  const replaced: NamedResource[] = [];
  const writes: Write[] = [];
  const channels: DeclaredEntry[] = [];
  for (const some of ofOneKind(entries, (entry) => entry)) {
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

/** Whether so many resources would be deleted that the operator must allow it. */
export function isMassDeletion({ owned, deletions }: Plan): boolean {
  return owned >= GUARDED_COUNT && deletions > owned / 2;
}

/** @param present undefined: the resource is gone, as the transaction that changes it will see */
function changeOf(
  entry: DeclaredEntry,
  resource: NamedResource,
  present: object | undefined,
  { resources, renewed }: { resources: ReadonlyMap<Address, NamedResource>; renewed: ReadonlySet<Address> },
): 'none' | 'update' | 'replace' {
  if (present === undefined) return 'update';
  const isRenewed = referencesOf(entry.kind, entry.attributes).some(({ to }) => renewed.has(to));
  // The empty text is not an id, so it differs from every stored one.
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
