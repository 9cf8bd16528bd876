import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referenceIn } from './references.ts';

/** A broken rule over several entries, reported at the later one. */
export type Clash = { readonly address: Address; readonly path: readonly string[]; readonly message: string };

/** Conflicts between entries that are valid by themselves. */
export function clashes(entries: readonly DeclaredEntry[]): Clash[] {
  return [...sharedAddresses(entries), ...groupsOfOtherPages(entries)];
}

/** Slugs and custom domains must be unique. */
function sharedAddresses(entries: readonly DeclaredEntry[]): Clash[] {
  const taken = new Map<string, Address>();
  const found: Clash[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'svc_status_page') continue;
    for (const name of ['slug', 'custom_domain'] as const) {
      const value = entry.attributes[name];
      if (value === null) continue;
      const first = taken.get(`${name} ${value}`);
      if (first === undefined) taken.set(`${name} ${value}`, addressOf(entry));
      else found.push({ address: addressOf(entry), path: [name], message: `is taken by ${first}` });
    }
  }
  return found;
}

/** A component and its group must belong to the same page. */
function groupsOfOtherPages(entries: readonly DeclaredEntry[]): Clash[] {
  const pageOf = new Map<Address, string>();
  for (const entry of entries) {
    if (entry.kind === 'svc_status_page_component_group')
      pageOf.set(addressOf(entry), entry.attributes.page_id);
  }
  return entries.flatMap((entry) => {
    if (entry.kind !== 'svc_status_page_component') return [];
    const group = referenceIn(entry.attributes.group_id);
    const page = group === null ? undefined : pageOf.get(group);
    if (page === undefined || page === entry.attributes.page_id) return [];
    return [{ address: addressOf(entry), path: ['group_id'], message: 'is a group of another page' }];
  });
}
