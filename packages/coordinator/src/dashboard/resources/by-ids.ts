import { LIMITS } from '@svc/shared/limits.ts';
import type { EndpointAnswering } from '../../api/endpoint.ts';
import { namedComponents } from '../../api/routes/components.ts';
import { monitorStates } from '../../api/routes/monitors.ts';
import type { PageApi } from '../page.ts';

/** The members with these ids of a list of the API that has a filter `ids`. Those that do not exist are left out. */
export async function readByIds<T>(
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

/** The names of these monitors by id. Those that are removed have none. */
export async function monitorNames(
  api: PageApi,
  ids: Iterable<string | null>,
): Promise<ReadonlyMap<string, string>> {
  const given = [...ids].filter((id) => id !== null);
  const found = await readByIds(api, monitorStates, given);
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** The names of these components by id, with the titles of their pages. */
export async function componentNames(
  api: PageApi,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const found = await readByIds(api, namedComponents, ids);
  return new Map(
    found.map(({ id, name, page_title: page }) => [id, `${name ?? `Component ${id}`} (${page})`]),
  );
}
