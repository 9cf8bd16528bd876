import { type Entries, noted } from '../forms/entries.ts';
import type { Field, ResourceForm } from '../forms/fields.ts';
import type { ReferenceOption, References } from '../forms/form-view.ts';
import { labelOf } from '../forms/labels.ts';
import type { PageApi } from '../page.ts';
import { findIn } from './draft.ts';

/** Most resources that a field offers at once: what one page of the API's lists holds. */
const MOST_OFFERED = 100;

type Listed = {
  readonly id: string;
  readonly name?: string | null;
  readonly title?: string;
  readonly type?: string;
};
type Page = { readonly data: readonly Listed[]; readonly total: number };

type Wanted = {
  readonly form: ResourceForm;
  /** Path of the form's list in the API: groups lie beside the components of a page. */
  readonly collection: string;
  readonly leftOut?: readonly string[];
};

/**
 * What the fields of a form that refer to other resources offer: all of them where they fit into one list, otherwise
 * those that are chosen and those that are searched for.
 *
 * @param stored the stored resource; null: it is a new one
 * @throws Problem that the API answered
 */
export async function referencesFor(
  api: PageApi,
  { form, collection, leftOut = [] }: Wanted,
  entries: Entries,
  stored: Readonly<Record<string, unknown>> | null,
): Promise<ReadonlyMap<string, References>> {
  const found = new Map<string, References>();
  for (const field of form.fields) {
    const { name, control } = field;
    if (leftOut.includes(name)) continue;
    if (control.type !== 'reference' && control.type !== 'references') continue;
    found.set(
      name,
      await offered(api, field, listOf(control.kinds, collection), { entries, stored: stored?.[name] }),
    );
  }
  return found;
}

/** Path of the list of the API that holds these kinds. */
function listOf(kinds: readonly string[], collection: string): string {
  return kinds.includes('svc_status_page_component_group')
    ? collection.replace(/\/components$/, '/component-groups')
    : '/v1/monitors';
}

async function offered(
  api: PageApi,
  { name }: Field,
  list: string,
  { entries, stored }: { readonly entries: Entries; readonly stored: unknown },
): Promise<References> {
  const find = findIn(entries, name);
  const all = await api.read<Page>(`${list}?limit=${MOST_OFFERED}`);
  const members = Array.isArray(stored) ? stored.map(String) : [];
  if (all.total <= MOST_OFFERED && find === '') {
    return { options: all.data.map(optionOf), find, found: all.total, total: all.total, unshown: 0 };
  }
  const matching = find === '' ? { data: [], total: 0 } : await search(api, list, find);
  const kept = [...(entries.get(name) ?? []), ...(entries.get(noted(name, 'shown')) ?? [])];
  const chosen = await named(api, list, [...new Set(kept)], [...all.data, ...matching.data]);
  const options = [
    ...new Map([...chosen, ...matching.data.map(optionOf)].map((option) => [option.id, option])).values(),
  ];
  const shown = new Set(options.map(({ id }) => id));
  const unshown = members.filter((id) => !shown.has(id)).length;
  return { options, find, found: matching.total, total: all.total, unshown };
}

function search(api: PageApi, list: string, find: string): Promise<Page> {
  return api.read<Page>(`${list}?limit=${MOST_OFFERED}&name=${encodeURIComponent(find.slice(0, 256))}`);
}

/** Resources by their ids, of which some are known already. One that was removed is left out. */
async function named(
  api: PageApi,
  list: string,
  ids: readonly string[],
  known: readonly Listed[],
): Promise<ReferenceOption[]> {
  const found: ReferenceOption[] = [];
  for (const id of ids.slice(0, MOST_OFFERED)) {
    const listed = known.find((each) => each.id === id);
    if (listed !== undefined) found.push(optionOf(listed));
    else if (/^[1-9]\d{0,14}$/.test(id)) {
      const { status, body } = await api.call('GET', `${list}/${id}`);
      if (status === 200) found.push(optionOf(body as Listed));
    }
  }
  return found;
}

function optionOf({ id, name, title, type = '' }: Listed): ReferenceOption {
  return { id, label: name ?? title ?? `${labelOf('id')} ${id}`, note: type };
}
