import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMonitorKind } from '../configuration/kinds/kinds.ts';
import { sameAttributes } from '../configuration/same-attributes.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referencesOf, resolveReferences } from './references.ts';

/** A stored resource that the file declares, or declared before. */
export type OwnedResource = {
  readonly kind: ResourceKind;
  /** Null: a start without a file set it free. It is taken over when it is declared again, else left alone. */
  readonly owner: 'file' | null;
  readonly localName: string | null;
  readonly id: number;
  /** Normalized, ids as text. */
  readonly attributes: object;
};

/** An entry that is to be made (`id` null) or changed. */
export type Write = { readonly entry: DeclaredEntry; readonly id: number | null };

/** What makes the stored resources equal to the declared ones. */
export type Plan = {
  /** To be removed first, dependents before what they depend on: no longer declared, or to be made anew. */
  readonly removals: readonly OwnedResource[];
  /** In order of dependency. */
  readonly writes: readonly Write[];
  /** Monitors no longer declared: to be removed last, when nothing declared refers to them any more. */
  readonly monitorRemovals: readonly OwnedResource[];
  /** Owned resources that are no longer declared; those made anew are not counted. */
  readonly deletions: number;
};

/** Owned resources from which on the guard against mass deletion holds. */
const GUARDED_COUNT = 10;

/**
 * Compares the declaration with what is stored. Pure; `breathe` is awaited between entries, so that
 * comparing many of them does not hold the thread.
 *
 * @param entries in order of dependency
 */
export async function planChanges(
  entries: readonly DeclaredEntry[],
  owned: readonly OwnedResource[],
  breathe: () => Promise<void>,
): Promise<Plan> {
  const stored = new Map(owned.map((resource) => [storedAddress(resource), resource]));
  await breathe();
  /** What is owned and not declared: at first everything. */
  const dropped = new Map([...stored].filter(([, { owner }]) => owner === 'file'));
  /** Entries that get a new id: what refers to them is written too. */
  const renewed = new Set<Address>();
  const replaced: OwnedResource[] = [];
  const writes: Write[] = [];
  for (const entry of entries) {
    await breathe();
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

/** Whether so much would go that the operator must say so. */
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
  // The empty text is no id: it differs from whatever is stored.
  const idOf = (to: Address) => (renewed.has(to) ? '' : String(stored.get(to)?.id ?? ''));
  const attributes = resolveReferences(entry.kind, entry.attributes, idOf);
  const [wanted, present] = [attributes, resource.attributes] as [Members, Members];
  if (replacingAttributes(entry.kind).some((name) => wanted[name] !== present[name])) return 'replace';
  const isKept = !isRenewed && resource.owner === 'file';
  return isKept && sameAttributes(attributes, resource.attributes) ? 'none' : 'update';
}

type Members = Readonly<Record<string, unknown>>;

/** Names of the attributes whose change needs a new object. */
function replacingAttributes(kind: ResourceKind): readonly string[] {
  return Object.entries(DEFINITIONS[kind].attributes).flatMap(([name, { replaces }]) =>
    replaces ? [name] : [],
  );
}

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
