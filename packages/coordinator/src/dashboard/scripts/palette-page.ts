import type { EndpointAnswering } from '../../api/endpoint.ts';
import { monitorStates } from '../../api/routes/monitors.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { type DashboardPage, type DashboardRequest, NAVIGATION_GROUPS } from '../dashboard-page.ts';

type Entry = { readonly label: string; readonly group: string; readonly href: string };

/** Maximum number of entries of each kind in an answer. */
const MOST = 8;

type Named = { readonly id: string; readonly name?: string | null; readonly title?: string };
type Searched = {
  readonly group: string;
  readonly list: EndpointAnswering<{ readonly data: readonly Named[] }>;
  readonly at: string;
};

/**
 * The lists of the API that the palette searches by name.
 * The path of a member's page is `at`, a slash and the id.
 */
const SEARCHED = [
  { group: 'Monitor', list: monitorStates, at: '/monitors' },
  { group: 'Channel', list: CHANNEL.list, at: '/channels' },
  { group: 'Status page', list: STATUS_PAGE.list, at: '/pages' },
] as const satisfies readonly Searched[];

/**
 * The endpoint that answers the entries of the command palette for a text, as JSON.
 *
 * @param pages every page of the dashboard
 */
export function palettePage(pages: () => readonly DashboardPage[]): DashboardPage {
  return {
    method: 'GET',
    path: '/palette',
    scope: 'read',
    async handle(request) {
      const text = (request.query.get('q') ?? '').trim().slice(0, 200);
      const named =
        text === '' ? [] : await Promise.all(SEARCHED.map((one) => foundEntries(request, one, text)));
      const entries = [...pageEntries(request, pages(), text), ...named.flat()];
      return { response: Response.json({ entries }, { headers: { 'cache-control': 'no-store' } }) };
    },
  };
}

/** The pages of the navigation that the session may open, and whose label contains the text. */
function pageEntries({ hasScope }: DashboardRequest, pages: readonly DashboardPage[], text: string): Entry[] {
  return pages
    .flatMap(({ navigation, path, scope }) =>
      navigation === undefined || !hasScope(scope)
        ? []
        : [{ label: navigation.label, group: navigation.group, href: path }],
    )
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .sort((a, b) => NAVIGATION_GROUPS.indexOf(a.group) - NAVIGATION_GROUPS.indexOf(b.group));
}

async function foundEntries(
  { api, canOpen }: DashboardRequest,
  { group, list, at }: Searched,
  text: string,
): Promise<Entry[]> {
  const { data } = await api.read(list, { limit: MOST, name: text });
  return data
    .map(({ id, name, title }) => ({ label: name ?? title ?? `${group} ${id}`, group, href: `${at}/${id}` }))
    .filter(({ href }) => canOpen(href));
}
