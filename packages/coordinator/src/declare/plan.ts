import { RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMonitorKind, replacingAttributes } from '../configuration/kinds/kinds.ts';
import type { NamedAttributes, NamedResource } from '../configuration/named-by-file.ts';
import { sameAttributes } from '../configuration/same-attributes.ts';
import { Turns } from '../configuration/turns.ts';
import { type Address, addressOf, type DeclaredEntry, type Entries } from './declaration.ts';
import { ofOneKind, positioned } from './one-kind.ts';
import { referencesOf, resolveReferences } from './references.ts';

/** An entry to create (`id` null) or to change. */
export type Write = {
  /** Position of the entry in the declaration, from 0. */
  readonly position: number;
  readonly kind: ResourceKind;
  readonly id: number | null;
};

/** The changes that make the stored resources equal to the declared ones. */
export type Plan = {
  /**
   * Resources to remove first, because they are no longer declared or are created anew. Dependents come
   * before the resources that they depend on.
   */
  readonly removals: readonly NamedResource[];
  /** Entries to write, in order of dependency. */
  readonly writes: readonly Write[];
  /** Positions of all entries that are channels. */
  readonly channels: readonly number[];
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

/** The stored side of the comparison. */
export type StoredSide = {
  readonly resources: ReadonlyMap<Address, NamedResource>;
  /** Reads the attributes of a few resources of one table. */
  readonly attributesOf: (resources: readonly NamedResource[]) => Promise<NamedAttributes>;
};

/**
 * Compares the declaration with the stored resources. The event loop gets turns in between.
 *
 * @param entries entries in order of dependency
 */
export async function planChanges(entries: Entries, { resources, attributesOf }: StoredSide): Promise<Plan> {
  const turns = new Turns();
  /** Owned resources that are not declared; at first all of them. */
  const dropped = new Set([...resources.values()].filter(({ owner }) => owner === 'file'));
  const owned = dropped.size;
  /** Entries that get a new id. Resources that refer to them are written too. */
  const renewed = new Set<Address>();
  const replaced: NamedResource[] = [];
  const writes: Write[] = [];
  const channels: number[] = [];
  for (const some of ofOneKind(positioned(entries), ({ entry }) => entry)) {
    const present = await attributesOf(some.flatMap(({ entry }) => resources.get(addressOf(entry)) ?? []));
    for (const { position, entry } of some) {
      await turns.breathe();
      const { kind } = entry;
      if (kind === 'svc_notification') channels.push(position);
      const resource = resources.get(addressOf(entry));
      if (resource === undefined) {
        renewed.add(addressOf(entry));
        writes.push({ position, kind, id: null });
        continue;
      }
      dropped.delete(resource);
      const change = changeOf(entry, resource, present.get(resource), { resources, renewed });
      if (change === 'none') continue;
      if (change === 'replace') {
        replaced.push(resource);
        renewed.add(addressOf(entry));
      }
      writes.push({ position, kind, id: change === 'replace' ? null : resource.id });
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
