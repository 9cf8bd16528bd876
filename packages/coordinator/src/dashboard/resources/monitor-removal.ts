import { type AnswerOf, idOf } from '../../api/endpoint.ts';
import { MONITOR, monitorUses } from '../../api/routes/monitors.ts';

import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import { type Removal, removalPages } from './removal.ts';

/** The page on which a monitor is removed. */
export const monitorRemoval: readonly DashboardPage[] = removalPages('/monitors/{id}/delete', removalOf);

type MonitorView = AnswerOf<typeof MONITOR.read>;

function removalOf(request: DashboardRequest): Removal<MonitorView> {
  const id = idOf(request);
  return {
    objects: MONITOR,
    ids: { id },
    kindOf: ({ type }) => `svc_${type}_monitor`,
    noun: 'monitor',
    path: `/monitors/${id}/delete`,
    after: '/',
    cancel: `/monitors/${id}`,
    nameOf: ({ name }) => name,
    hanging: ({ api }) => hanging(api, id),
  };
}

type Uses = AnswerOf<typeof monitorUses>;

async function hanging(api: DashboardRequest['api'], id: number): Promise<Html> {
  const uses = await api.read(monitorUses, { id });
  return html`<p>Its results, its history and its incidents are removed with it. Alerts that wait are still sent.</p>
${channels(uses)}
${components(uses)}`;
}

function channels({ notifications, notification_count: count }: Uses): Html {
  if (count === 0) return NO_HTML;
  const more = count - notifications.length;
  return html`<section><h2>Channels that it leaves</h2>
<ul>${notifications.map(
    ({ id, name, provider_type: kind }) =>
      html`<li><a href="/channels/${id}">${name ?? `Channel ${id}`}</a> <span class="soft">${kind}</span></li>`,
  )}${more > 0 ? html`<li>and ${more} more</li>` : NO_HTML}</ul></section>`;
}

function components({ components: shown, component_count: count }: Uses): Html {
  if (count === 0) return NO_HTML;
  const more = count - shown.length;
  return html`<section><h2>Status pages that show it</h2>
<ul>${shown.map(
    ({ id, page_id: page, page_slug: slug }) =>
      html`<li><a href="/pages/${page}">${slug}</a> <span class="soft">component ${id}</span></li>`,
  )}${more > 0 ? html`<li>and ${more} more</li>` : NO_HTML}</ul></section>
<fieldset class="set"><legend>What happens to these components?</legend>
<label class="choice"><input type="radio" name="components" value="remove" checked> Remove them too</label>
<label class="choice"><input type="radio" name="components" value="keep"> Keep them: they show nothing, until they get another monitor</label>
</fieldset>`;
}
