import { isId } from '@svc/shared/ids.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { EndpointAnswering } from '../../api/endpoint.ts';
import { COMPONENT_GROUP, namedComponents } from '../../api/routes/components.ts';
import { monitorStates } from '../../api/routes/monitors.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import type { PageApi } from '../dashboard-page.ts';
import { type Entries, findIn, noteName } from '../forms/entries.ts';
import { type Field, labelOf, type ResourceForm } from '../forms/fields.ts';
import type { ReferenceOption, References } from '../forms/render-form.ts';

/** Maximum number of resources that a field offers at once: one page of the API's lists. */
const MOST_OFFERED = 100;

/** The attributes of a resource in a list that a field uses. */
type Listed = {
  readonly id: string;
  readonly name?: string | null;
  readonly title?: string;
  readonly type?: string;
  /** Title of the status page that a component is on. */
  readonly page_title?: string;
};
type Page = { readonly data: readonly Listed[]; readonly total: number };

type Wanted = {
  readonly form: ResourceForm;
  /**
   * Ids of the parent objects. A component's page is such a
   * parent: the component may belong to the page's groups.
   */
  readonly above?: Readonly<Record<string, number | string>>;
  readonly leftOut?: readonly string[];
};

/** The list of the API whose members a field offers. */
type Source = {
  readonly list: EndpointAnswering<Page>;
  readonly parameters: Readonly<Record<string, number | string>>;
  /** Endpoint that reads one member. Null: members are read by the list's filter `ids`. */
  readonly read: EndpointAnswering<Listed> | null;
};

/**
 * Reads the options of the fields that refer to other resources. If all resources
 * fit on one page of the API's list, a field offers all. Otherwise it offers the
 * chosen resources, and the resources that a search finds by name or id.
 *
 * @param stored the stored resource; null: the resource is new
 * @throws Problem that the API answered
 */
export async function referencesFor(
  api: PageApi,
  { form, above = {}, leftOut = [] }: Wanted,
  entries: Entries,
  stored: Readonly<Record<string, unknown>> | null,
): Promise<ReadonlyMap<string, References>> {
  const offers = form.fields.flatMap((field) => {
    const { name, control } = field;
    if (leftOut.includes(name)) return [];
    if (control.type !== 'reference' && control.type !== 'references') return [];
    const source = sourceOf(control.kinds, above);
    return [
      async () => [name, await readOffer(api, field, source, { entries, stored: stored?.[name] })] as const,
    ];
  });
  return new Map(await Promise.all(offers.map((offer) => offer())));
}

/** The list of the API with resources of these kinds. */
function sourceOf(kinds: readonly string[], above: Source['parameters']): Source {
  if (kinds.includes('svc_status_page')) return { ...STATUS_PAGE, parameters: {} };
  if (kinds.includes('svc_status_page_component'))
    return { list: namedComponents, parameters: {}, read: null };
  if (kinds.includes('svc_status_page_component_group')) return { ...COMPONENT_GROUP, parameters: above };
  return { list: monitorStates, parameters: { sort: 'name' }, read: null };
}

async function readOffer(
  api: PageApi,
  { name }: Field,
  source: Source,
  { entries, stored }: { readonly entries: Entries; readonly stored: unknown },
): Promise<References> {
  const find = findIn(entries, name);
  const all = await readList(api, source, {});
  const members = Array.isArray(stored) ? stored.map(String) : [];
  if (all.total <= MOST_OFFERED && find === '') {
    return { options: all.data.map(optionOf), find, found: all.total, total: all.total, unshown: 0 };
  }
  const matching = find === '' ? { data: [], total: 0 } : await searchMembers(api, source, find);
  const kept = [...(entries.get(name) ?? []), ...(entries.get(noteName(name, 'shown')) ?? [])];
  const chosen = await readNamed(api, source, [...new Set(kept)], [...all.data, ...matching.data]);
  const options = [
    ...new Map([...chosen, ...matching.data.map(optionOf)].map((option) => [option.id, option])).values(),
  ];
  const shown = new Set(options.map(({ id }) => id));
  const unshown = members.filter((id) => !shown.has(id)).length;
  return { options, find, found: matching.total, total: all.total, unshown };
}

function readList(
  api: PageApi,
  { list, parameters }: Source,
  filter: Readonly<Record<string, string>>,
): Promise<Page> {
  return api.read(list, { ...parameters, limit: MOST_OFFERED, ...filter });
}

/**
 * Finds resources whose name contains the text. If the text
 * is the id of a resource, it finds this resource too.
 */
async function searchMembers(api: PageApi, source: Source, find: string): Promise<Page> {
  const { data, total } = await readList(api, source, { name: find.slice(0, 256) });
  if (!isId(find) || data.some(({ id }) => id === find)) return { data, total };
  const [own] = await readMembers(api, source, [find]);
  return own === undefined ? { data, total } : { data: [own, ...data], total: total + 1 };
}

/** Reads the resources with these ids that are not known yet. Removed resources are left out. */
async function readNamed(
  api: PageApi,
  source: Source,
  ids: readonly string[],
  known: readonly Listed[],
): Promise<ReferenceOption[]> {
  const found = new Map(known.map((each) => [each.id, each]));
  const unknown = ids.filter((id) => isId(id) && !found.has(id));
  for (const each of await readMembers(api, source, unknown)) found.set(each.id, each);
  return ids.flatMap((id) => {
    const each = found.get(id);
    return each === undefined ? [] : [optionOf(each)];
  });
}

async function readMembers(
  api: PageApi,
  { list, read: member, parameters }: Source,
  ids: readonly string[],
): Promise<Listed[]> {
  if (member === null) return readByIds(api, list, ids);
  const found: Listed[] = [];
  for (const id of ids) {
    const called = await api.call(member, { ...parameters, id });
    if (called.problem === null) found.push(called.body);
  }
  return found;
}

function optionOf({ id, name, title, type = '', page_title: page }: Listed): ReferenceOption {
  return { id, label: name ?? title ?? `${labelOf('id')} ${id}`, note: page ?? type };
}

/** Reads members of a list by their ids. The list must have a filter `ids`. Missing members are left out. */
async function readByIds<T>(
  api: PageApi,
  list: EndpointAnswering<{ readonly data: readonly T[] }>,
  ids: Iterable<string>,
): Promise<T[]> {
  const wanted = [...new Set(ids)];
  const parts = Array.from({ length: Math.ceil(wanted.length / LIMITS.listMaximum) }, (_, part) =>
    wanted.slice(part * LIMITS.listMaximum, (part + 1) * LIMITS.listMaximum),
  );
  const pages = await Promise.all(
    parts.map((part) => api.read(list, { limit: LIMITS.listMaximum, ids: part.join(',') })),
  );
  return pages.flatMap(({ data }) => data);
}

/** Reads the names of monitors by id. Removed monitors are left out. */
export async function monitorNames(
  api: PageApi,
  ids: Iterable<string | null>,
): Promise<ReadonlyMap<string, string>> {
  const given = [...ids].filter((id) => id !== null);
  const found = await readByIds(api, monitorStates, given);
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** Reads the names of components by id, with the titles of their pages. */
export async function componentNames(
  api: PageApi,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const found = await readByIds(api, namedComponents, ids);
  return new Map(
    found.map(({ id, name, page_title: page }) => [id, `${name ?? `Component ${id}`} (${page})`]),
  );
}
