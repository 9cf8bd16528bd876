import { isId } from '@svc/shared/ids.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { idOf } from '../../api/endpoint.ts';
import { COMPONENT } from '../../api/routes/components.ts';
import { monitorStates } from '../../api/routes/monitors.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { counted, pageHead } from '../page-parts.ts';
import { nameSearch } from '../resources/searched-list.ts';
import { componentsOf } from './status-page-editor.ts';

/** Maximum number of monitors that the form offers: a page of the API's list. */
const MOST_OFFERED = LIMITS.listMaximum;

/** A form that adds a component for each ticked monitor. The components have the names of their monitors. */
export const severalComponents: readonly DashboardPage[] = [
  { method: 'GET', path: '/pages/{page}/components/several', scope: 'write', handle: showForm },
  { method: 'POST', path: '/pages/{page}/components/several', scope: 'write', handle: addComponents },
];

async function showForm(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, query, formToken } = request;
  const id = idOf(request, 'page');
  const name = query.get('name')?.trim().slice(0, 256) || null;
  const [page, shown, found] = await Promise.all([
    api.read(STATUS_PAGE.read, { id }),
    componentsOf(api, id),
    api.read(monitorStates, { sort: 'name', limit: MOST_OFFERED, name }),
  ]);
  const onPage = new Set(shown.map(({ monitor_id: monitor }) => monitor));
  const offered = found.data.filter((monitor) => !onPage.has(monitor.id));
  const path = `/pages/${id}/components/several`;
  const title = 'Add several components';
  const boxes = offered.map(
    (monitor) =>
      html`<label class="choice"><input type="checkbox" name="monitor" value="${monitor.id}"> <span>${monitor.name} <span class="soft small">${monitor.type.toUpperCase()}</span></span></label>`,
  );
  return {
    title,
    styles: [FORM_STYLE],
    body: html`${pageHead(title, {
      above: [
        { href: '/pages', label: 'Status pages' },
        { href: `/pages/${id}`, label: page.title },
      ],
    })}
${found.total > MOST_OFFERED || name !== null ? nameSearch(path, name ?? '', 'Name of monitors') : NO_HTML}
<form class="form" method="post" action="${path}">${formToken}
<fieldset class="set"><legend>Monitors that the page does not show yet</legend>
${boxes.length === 0 ? html`<p class="hint">There is none.</p>` : html`<div class="boxes boxes-wide">${boxes}</div>`}
</fieldset>
<div class="row form-actions"><button class="button-main">Add components</button>
<a class="button button-quiet" href="/pages/${id}">Cancel</a></div>
</form>`,
  };
}

async function addComponents(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, form } = request;
  const id = idOf(request, 'page');
  const monitors = [...new Set(form.all('monitor'))].filter(isId).slice(0, MOST_OFFERED);
  const redirect = `/pages/${id}#components`;
  let refusal: string | null = null;
  let added = 0;
  for (const monitor of monitors) {
    const body = { type: 'monitor', monitor_id: monitor };
    const { problem } = await api.call(COMPONENT.create, { page_id: id }, { body });
    if (problem === null) added += 1;
    else refusal ??= problem.message;
  }
  const done = `${counted(added, 'component')} added.`;
  return { redirect, notice: refusal === null ? done : `${done} Not all: ${refusal}` };
}
