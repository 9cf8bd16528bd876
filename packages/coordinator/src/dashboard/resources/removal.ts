import type { Endpoint, EndpointAnswering } from '../../api/endpoint.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { VERSION_FIELD } from '../forms/entries.ts';
import { pageHead } from '../page-parts.ts';
import { declaredIn, declaredNotice } from './declared.ts';

/** An object that can be removed, and the texts of its removal. */
export type Removal<T> = {
  /** The endpoints for objects of this kind. */
  readonly objects: { readonly read: EndpointAnswering<T>; readonly remove: Endpoint };
  readonly ids: Readonly<Record<string, number>>;
  /** Name of the kind in declarations. */
  kindOf(object: T): string;
  readonly noun: string;
  /** Path of the removal's page. */
  readonly path: string;
  /** Path of the page that opens after the removal. */
  readonly after: string;
  readonly cancel: string;
  /** Name of the object for people. */
  nameOf(object: T): string;
  /** Says what else the removal removes or affects. */
  consequences(request: DashboardRequest, object: T): Promise<Html>;
};

/** Two pages: GET asks whether to remove an object, and POST removes it. */
export function removalPages<T>(
  path: string,
  removalOf: (request: DashboardRequest) => Removal<T>,
): DashboardPage[] {
  return [
    { method: 'GET', path, scope: 'write', handle: (request) => askRemoval(request, removalOf(request)) },
    { method: 'POST', path, scope: 'write', handle: (request) => removeObject(request, removalOf(request)) },
  ];
}

/** Asks whether to remove the object, and says what else is affected. */
async function askRemoval<T>(request: DashboardRequest, removal: Removal<T>): Promise<DashboardAnswer> {
  return confirmation(request, removal, NO_HTML, 200);
}

/** Removes the object. If the object was changed after the question was shown, nothing is removed. */
async function removeObject<T>(request: DashboardRequest, removal: Removal<T>): Promise<DashboardAnswer> {
  const query = choiceIn(request.form.text('components'));
  const version = request.form.text(VERSION_FIELD);
  const { remove: endpoint } = removal.objects;
  const { problem } = await request.api.call(
    endpoint,
    { ...removal.ids, ...query },
    { headers: { 'if-match': version } },
  );
  if (problem === null || problem.status === 404) {
    return { redirect: removal.after, notice: `The ${removal.noun} was removed.` };
  }
  const said =
    problem.status === 412
      ? `Somebody else changed this ${removal.noun} after you opened this page. Nothing was removed: look at it again.`
      : `Nothing was removed: ${problem.message}`;
  const notice = html`<p class="notice notice-error" role="alert">${said}</p>`;
  return confirmation(request, removal, notice, problem.status);
}

/** The question what happens to the components of status pages that show a removed monitor. */
export function componentsChoice(question: string): Html {
  return html`<fieldset class="set"><legend>${question}</legend>
<label class="choice"><input type="radio" name="components" value="remove" checked> Remove them too</label>
<label class="choice"><input type="radio" name="components" value="keep"> Keep them: they show nothing until they get another monitor</label>
</fieldset>`;
}

/** The query parameter that answers {@link componentsChoice}. */
export function choiceIn(text: string): Readonly<Record<string, string>> {
  if (text === 'remove') return { cascade: 'true' };
  return text === 'keep' ? { components: 'keep' } : {};
}

async function confirmation<T>(
  request: DashboardRequest,
  removal: Removal<T>,
  notice: Html,
  status: number,
): Promise<DashboardAnswer> {
  const { objects, ids, noun, path, cancel } = removal;
  const called = await request.api.call(objects.read, ids);
  if (called.problem !== null) throw called.problem;
  const { headers, body } = called;
  const title = `Remove the ${noun} ${removal.nameOf(body)}`;
  const declared = declaredIn(headers);
  if (declared !== null) {
    return {
      title,
      body: html`${pageHead(title)}${declaredNotice(noun, removal.kindOf(body), declared)}
<p><a href="${cancel}">Back</a></p>`,
    };
  }
  return {
    title,
    status,
    styles: [FORM_STYLE],
    body: html`${pageHead(title)}
${notice}
<form class="form" method="post" action="${path}">${request.formToken}
<input type="hidden" name="${VERSION_FIELD}" value="${headers.etag ?? ''}">
${await removal.consequences(request, body)}
<div class="row form-actions"><button class="button-danger">Remove the ${noun}</button>
<a class="button button-quiet" href="${cancel}">Keep it</a></div>
</form>`,
  };
}
