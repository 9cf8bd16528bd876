import { type Html, html, NO_HTML } from '../../web/html.ts';
import { type DashboardAnswer, type DashboardPage, type DashboardRequest, problemIn } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { declaredNotice } from './declared.ts';
import { VERSION_FIELD } from './draft.ts';
import { readWhole } from './read-whole.ts';
import { FORM_STYLE } from './style.ts';

/** What can be removed, and what goes with it. */
export type Removal = {
  /** Path of the object in the API. */
  readonly object: string;
  /** Its kind in declarations. */
  kindOf(object: Readonly<Record<string, unknown>>): string;
  readonly noun: string;
  /** Path of this page. */
  readonly path: string;
  /** Where a visitor goes afterwards, and who does not remove it. */
  readonly after: string;
  readonly cancel: string;
  /** Name of the object for people. */
  nameOf(object: Readonly<Record<string, unknown>>): string;
  /** What goes with it or stays without it. */
  hanging(request: DashboardRequest, object: Readonly<Record<string, unknown>>): Promise<Html>;
};

/** The page that asks whether an object is to be removed, and the request that it sends. */
export function removalPages(
  path: string,
  removalOf: (request: DashboardRequest) => Removal,
): DashboardPage[] {
  return [
    { method: 'GET', path, scope: 'write', handle: (request) => askRemoval(request, removalOf(request)) },
    { method: 'POST', path, scope: 'write', handle: (request) => remove(request, removalOf(request)) },
  ];
}

/** Asks whether it is to be removed, and says what goes with it. */
async function askRemoval(request: DashboardRequest, removal: Removal): Promise<DashboardAnswer> {
  return confirmation(request, removal, NO_HTML, 200);
}

/** Removes it, unless it was changed after the question. */
async function remove(request: DashboardRequest, removal: Removal): Promise<DashboardAnswer> {
  const query = choiceIn(request.form.text('components'));
  const version = request.form.text(VERSION_FIELD);
  const answer = await request.api.call('DELETE', `${removal.object}${query}`, undefined, {
    'if-match': version,
  });
  const problem = problemIn(answer);
  if (problem === null || answer.status === 404) {
    return { redirect: removal.after, notice: `The ${removal.noun} was removed.` };
  }
  const said =
    answer.status === 412
      ? `Somebody else changed this ${removal.noun} after you opened this page. Nothing was removed: look at it again.`
      : `Nothing was removed: ${problem.detail}`;
  const notice = html`<p class="notice notice-error" role="alert">${said}</p>`;
  return confirmation(request, removal, notice, answer.status);
}

/** What happens to components that show a monitor. */
function choiceIn(text: string): string {
  if (text === 'remove') return '?cascade=true';
  return text === 'keep' ? '?components=keep' : '';
}

async function confirmation(
  request: DashboardRequest,
  removal: Removal,
  notice: Html,
  status: number,
): Promise<DashboardAnswer> {
  const { object, noun, path, cancel } = removal;
  const { headers, body } = await readWhole(request.api, object);
  const title = `Remove the ${noun} ${removal.nameOf(body)}`;
  const declaredAs = headers.get('svc-declared-as');
  if (declaredAs !== null) {
    return {
      title,
      body: html`${pageHead(title)}${declaredNotice(noun, removal.kindOf(body), { declaredAs, headers })}
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
<input type="hidden" name="${VERSION_FIELD}" value="${headers.get('etag') ?? ''}">
${await removal.hanging(request, body)}
<div class="row form-actions"><button class="button-danger">Remove the ${noun}</button>
<a class="button button-quiet" href="${cancel}">Keep it</a></div>
</form>`,
  };
}
