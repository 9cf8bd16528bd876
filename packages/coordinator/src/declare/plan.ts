import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import { DEFINITIONS, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referencesOf } from './references.ts';

/** A resource that the declared file owns, as it is stored. */
export type OwnedResource = {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly id: number;
  /** Stored values of the attributes whose change needs a new object, by name; ids as text. */
  readonly fixed: Readonly<Record<string, unknown>>;
};

/** What makes the stored resources equal to the declared ones. */
export type Plan = {
  /** To be removed first, dependents before what they depend on: no longer declared, or to be made anew. */
  readonly removals: readonly OwnedResource[];
  /** To be made or changed, in order of dependency. `id` null: to be made. */
  readonly writes: readonly { readonly entry: DeclaredEntry; readonly id: number | null }[];
  /** Monitors no longer declared: to be removed last, when nothing declared refers to them any more. */
  readonly monitorRemovals: readonly OwnedResource[];
  /** Owned resources that are no longer declared; those made anew are not counted. */
  readonly deletions: number;
};

/** Owned resources from which on the guard against mass deletion holds. */
const GUARDED_COUNT = 10;

/**
 * @param entries the declaration, in order of dependency
 * @param applied digests of the entries as they were last applied; an entry that differs, or is not
 *   known, is written (writing what is equal changes nothing, but takes time)
 */
export function planChanges(
  entries: readonly DeclaredEntry[],
  owned: readonly OwnedResource[],
  applied: ReadonlyMap<Address, string>,
): Plan {
  const declared = new Set(entries.map(addressOf));
  const stored = new Map(owned.map((resource) => [addressOf(resource), resource]));
  const idOf = (address: Address) => stored.get(address)?.id ?? null;
  const dropped = owned.filter((resource) => !declared.has(addressOf(resource)));

  /** Entries that get a new id: whatever refers to them must be written too. */
  const renewed = new Set<Address>();
  const replaced: OwnedResource[] = [];
  const writes: { entry: DeclaredEntry; id: number | null }[] = [];
  for (const entry of entries) {
    const address = addressOf(entry);
    const resource = stored.get(address);
    const references = referencesOf(entry.kind, entry.attributes);
    if (resource === undefined || isReplaced(entry, resource, renewed, idOf)) {
      if (resource !== undefined) replaced.push(resource);
      renewed.add(address);
      writes.push({ entry, id: null });
    } else if (applied.get(address) !== entry.digest || references.some(({ to }) => renewed.has(to))) {
      writes.push({ entry, id: resource.id });
    }
  }
  return {
    removals: dependentsFirst([...dropped.filter((resource) => !isMonitor(resource)), ...replaced]),
    writes,
    monitorRemovals: dropped.filter(isMonitor),
    deletions: dropped.length,
  };
}

/** Whether so much would go that the operator must say so. */
export function isMassDeletion(plan: Plan, ownedCount: number): boolean {
  return ownedCount >= GUARDED_COUNT && plan.deletions > ownedCount / 2;
}

/** Whether an attribute differs that cannot change in place. */
function isReplaced(
  entry: DeclaredEntry,
  resource: OwnedResource,
  renewed: ReadonlySet<Address>,
  idOf: (address: Address) => number | null,
): boolean {
  const attributes: Readonly<Record<string, unknown>> = entry.attributes;
  const references = new Map(
    referencesOf(entry.kind, entry.attributes).map(({ path, to }) => [path.join('.'), to]),
  );
  return replacingAttributes(entry.kind).some((name) => {
    const to = references.get(name);
    if (to === undefined) return attributes[name] !== resource.fixed[name];
    return renewed.has(to) || String(idOf(to)) !== resource.fixed[name];
  });
}

/** Names of the attributes whose change needs a new object. */
export function replacingAttributes(kind: ResourceKind): string[] {
  return Object.entries(DEFINITIONS[kind].attributes).flatMap(([name, { replaces }]) =>
    replaces ? [name] : [],
  );
}

function isMonitor({ kind }: OwnedResource): boolean {
  return kind === 'svc_http_monitor' || kind === 'svc_tcp_monitor' || kind === 'svc_dns_monitor';
}

function dependentsFirst(resources: readonly OwnedResource[]): OwnedResource[] {
  const rank = ({ kind }: OwnedResource) => RESOURCE_KINDS.indexOf(kind);
  return resources.toSorted((a, b) => rank(b) - rank(a));
}
