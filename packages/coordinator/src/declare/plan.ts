import { RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMonitorKind, replacingAttributes } from '../configuration/kinds/kinds.ts';
import { sameAttributes } from '../configuration/same-attributes.ts';
import { Turns } from '../configuration/turns.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referencesOf, resolveReferences } from './references.ts';

/** A stored resource that the file declares or declared before. */
export type OwnedResource = {
  readonly kind: ResourceKind;
  /**
   * Null: a start without a file released it. It is taken over when it is declared again, and otherwise left
   * alone.
   */
  readonly owner: 'file' | null;
  readonly localName: string | null;
  readonly id: number;
  /** Normalized attributes, with ids as text. */
  readonly attributes: object;
};

/** An entry to create (`id` null) or to change. */
export type Write = { readonly entry: DeclaredEntry; readonly id: number | null };

/** The changes that make the stored resources equal to the declared ones. */
export type Plan = {
  /**
   * Resources to remove first, because they are no longer declared or are created anew. Dependents come
   * before the resources that they depend on.
   */
  readonly removals: readonly OwnedResource[];
  /** Entries to write, in order of dependency. */
  readonly writes: readonly Write[];
  /**
   * Monitors that are no longer declared. They are removed last, when nothing declared refers to them any
   * more.
   */
  readonly monitorRemovals: readonly OwnedResource[];
  /** Number of owned resources that are no longer declared, without those that are created anew. */
  readonly deletions: number;
};

/** Number of owned resources from which the guard against mass deletion applies. */
const GUARDED_COUNT = 10;

/**
 * Compares the declaration with the stored resources. The event loop gets turns in between.
 *
 * @param entries entries in order of dependency
 */
export async function planChanges(
  entries: readonly DeclaredEntry[],
  owned: readonly OwnedResource[],
): Promise<Plan> {
  const turns = new Turns();
  const stored = new Map(owned.map((resource) => [storedAddress(resource), resource]));
  await turns.breathe();
  /** Owned resources that are not declared; at first all of them. */
  const dropped = new Map([...stored].filter(([, { owner }]) => owner === 'file'));
  /** Entries that get a new id. Resources that refer to them are written too. */
  const renewed = new Set<Address>();
  const replaced: OwnedResource[] = [];
  const writes: Write[] = [];
  for (const entry of entries) {
    await turns.breathe();
    const resource = stored.get(addressOf(entry));
    dropped.delete(addressOf(entry));
    const change = resource === undefined ? 'create' : changeOf(entry, resource, stored, renewed);
    if (change === 'none') continue;
    if (change === 'update') {
      writes.push({ entry, id: resource?.id ?? null });
      continue;
    }
    if (resource !== undefined) replaced.push(resource);
    renewed.add(addressOf(entry));
    writes.push({ entry, id: null });
  }
  const gone = [...dropped.values()];
  return {
    removals: dependentsFirst([...gone.filter((resource) => !isMonitor(resource)), ...replaced]),
    writes,
    monitorRemovals: gone.filter(isMonitor),
    deletions: gone.length,
  };
}

/** Whether so many resources would be deleted that the operator must allow it. */
export function isMassDeletion(plan: Plan, ownedCount: number): boolean {
  return ownedCount >= GUARDED_COUNT && plan.deletions > ownedCount / 2;
}

function changeOf(
  entry: DeclaredEntry,
  resource: OwnedResource,
  stored: ReadonlyMap<Address, OwnedResource>,
  renewed: ReadonlySet<Address>,
): 'none' | 'update' | 'replace' {
  const isRenewed = referencesOf(entry.kind, entry.attributes).some(({ to }) => renewed.has(to));
  // The empty text is not an id, so it differs from every stored one.
  const idOf = (to: Address) => (renewed.has(to) ? '' : String(stored.get(to)?.id ?? ''));
  const attributes = resolveReferences(entry.kind, entry.attributes, idOf);
  const [wanted, present] = [attributes, resource.attributes] as [Members, Members];
  if (replacingAttributes(entry.kind).some((name) => wanted[name] !== present[name])) return 'replace';
  const isKept = !isRenewed && resource.owner === 'file';
  return isKept && sameAttributes(attributes, resource.attributes) ? 'none' : 'update';
}

type Members = Readonly<Record<string, unknown>>;

function storedAddress({ kind, localName }: OwnedResource): Address {
  return addressOf({ kind, name: localName ?? '' });
}

function isMonitor({ kind }: OwnedResource): boolean {
  return isMonitorKind(kind);
}

function dependentsFirst(resources: readonly OwnedResource[]): OwnedResource[] {
  const rank = ({ kind }: OwnedResource) => RESOURCE_KINDS.indexOf(kind);
  return resources.toSorted((a, b) => rank(b) - rank(a));
}
