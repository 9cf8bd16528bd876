import { type DashboardPage, type DashboardRequest, NAVIGATION_GROUPS } from '../page.ts';

type Entry = { readonly label: string; readonly group: string; readonly href: string };

/** Most entries that an answer has of each kind. */
const MOST = 8;

/** Lists in which names are searched, with the place of a member. A place that has no page is left out. */
const SEARCHED = [
  { group: 'Monitor', list: '/v1/monitor-states', at: '/monitors' },
  { group: 'Channel', list: '/v1/notifications', at: '/channels' },
  { group: 'Status page', list: '/v1/status-pages', at: '/pages' },
] as const;

type Named = { readonly id: string; readonly name?: string | null; readonly title?: string };

/** What the command palette offers for a text, as JSON. @param pages every page of the dashboard */
export function palettePage(pages: () => readonly DashboardPage[]): DashboardPage {
  return {
    method: 'GET',
    path: '/palette',
    scope: 'read',
    async handle(request) {
      const text = (request.query.get('q') ?? '').trim().slice(0, 200);
      const named = text === '' ? [] : await Promise.all(SEARCHED.map((one) => found(request, one, text)));
      const entries = [...pageEntries(request, pages(), text), ...named.flat()];
      return { response: Response.json({ entries }, { headers: { 'cache-control': 'no-store' } }) };
    },
  };
}

/** Pages of the navigation, and those that make something. */
function pageEntries({ can }: DashboardRequest, pages: readonly DashboardPage[], text: string): Entry[] {
  return pages
    .flatMap(({ navigation, path, scope }) =>
      navigation === undefined || !can(scope)
        ? []
        : [{ label: navigation.label, group: navigation.group, href: path }],
    )
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .sort((a, b) => NAVIGATION_GROUPS.indexOf(a.group) - NAVIGATION_GROUPS.indexOf(b.group));
}

async function found(
  { api, leadsTo }: DashboardRequest,
  { group, list, at }: (typeof SEARCHED)[number],
  text: string,
): Promise<Entry[]> {
  const { data } = await api.read<{ data: readonly Named[] }>(
    `${list}?limit=${MOST}&name=${encodeURIComponent(text)}`,
  );
  return data
    .map(({ id, name, title }) => ({ label: name ?? title ?? `${group} ${id}`, group, href: `${at}/${id}` }))
    .filter(({ href }) => leadsTo(href));
}
