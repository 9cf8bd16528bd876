import type { PageApi } from '../page.ts';
import type { Listed } from '../resources/lists.ts';
import type { Option } from './note-form.ts';

/** Most objects of one kind that a form offers. */
const MOST_OFFERED = 100;

/** The first monitors of the workspace, to be ticked. */
export async function offeredMonitors(api: PageApi): Promise<Option[]> {
  const { data } = await api.read<Listed<{ id: string; name: string }>>(`/v1/monitors?limit=${MOST_OFFERED}`);
  return data.map(({ id, name }) => ({ value: id, label: name }));
}

/** The first status pages of the workspace, to be ticked. */
export async function offeredPages(api: PageApi): Promise<Option[]> {
  const { data } = await api.read<Listed<{ id: string; title: string }>>(
    `/v1/status-pages?limit=${MOST_OFFERED}`,
  );
  return data.map(({ id, title }) => ({ value: id, label: title }));
}

type Component = { readonly id: string; readonly name: string | null; readonly monitor_id: string | null };

/** The first components of these pages, or of all pages (null), to be ticked. */
export async function offeredComponents(api: PageApi, pageIds: readonly string[] | null): Promise<Option[]> {
  const pages = await offeredPages(api);
  const names = new Map((await offeredMonitors(api)).map(({ value, label }) => [value, label]));
  const found: Option[] = [];
  for (const page of pages) {
    if (pageIds !== null && pageIds.length > 0 && !pageIds.includes(page.value)) continue;
    const { data } = await api.read<Listed<Component>>(
      `/v1/status-pages/${page.value}/components?limit=${MOST_OFFERED}`,
    );
    for (const { id, name, monitor_id: monitor } of data) {
      const own = name ?? names.get(monitor ?? '') ?? `component ${id}`;
      found.push({ value: id, label: `${own} (${page.label})` });
    }
    if (found.length >= MOST_OFFERED) break;
  }
  return found;
}
