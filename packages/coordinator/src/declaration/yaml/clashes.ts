import type { Resources } from '@svc/shared/resources/registry.ts';
import { type Address, addressOf, type DeclaredEntry } from './declaration.ts';
import { referenceIn } from './references.ts';

/** A broken rule over several entries, reported at the later one. */
export type Clash = { readonly path: readonly string[]; readonly message: string };

/** Finds conflicts between entries that are valid by themselves. */
export class Clashes {
  /** The entry of each slug and custom domain. */
  readonly #taken = new Map<string, Address>();
  readonly #pageOfGroup = new Map<Address, string>();

  /** The conflicts of an entry with those before it. Entries come in order of dependency. */
  of(entry: DeclaredEntry): Clash[] {
    switch (entry.kind) {
      case 'svc_status_page':
        return this.#sharedAddresses(addressOf(entry), entry.attributes);
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
  #sharedAddresses(address: Address, attributes: Resources['svc_status_page']): Clash[] {
    return (['slug', 'custom_domain'] as const).flatMap((name) => {
      const value = attributes[name];
      if (value === null) return [];
      const first = this.#taken.get(`${name} ${value}`);
      if (first !== undefined) return [{ path: [name], message: `is taken by ${first}` }];
      this.#taken.set(`${name} ${value}`, address);
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
