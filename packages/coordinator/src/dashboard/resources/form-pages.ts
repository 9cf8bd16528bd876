import { html } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { withCode } from '../forms/help.ts';
import { pageHead } from '../page-parts.ts';
import { type Editor, handleForm, openNewForm, openStoredForm } from './editor.ts';

type EditorOf = (request: DashboardRequest) => Editor | Promise<Editor>;

/** The four pages of a form: GET and POST for a new object, and GET and POST for an existing one. */
export function formPages(
  newPath: string,
  editPath: string,
  idName: string,
  editorOf: EditorOf,
): DashboardPage[] {
  return [...newPages(newPath, editorOf), ...editPages(editPath, idName, editorOf)];
}

export function newPages(path: string, editorOf: EditorOf): DashboardPage[] {
  const page = { path, scope: 'write' } as const;
  return [
    { ...page, method: 'GET', handle: async (request) => openNewForm(request, await editorOf(request)) },
    {
      ...page,
      method: 'POST',
      handle: async (request) => handleForm(request, await editorOf(request), null),
    },
  ];
}

/**
 * The two pages (GET and POST) of the form for an existing object.
 *
 * @param idName name of the path parameter with the object's id
 */
export function editPages(path: string, idName: string, editorOf: EditorOf): DashboardPage[] {
  const page = { path, scope: 'write' } as const;
  const idIn = ({ ids }: DashboardRequest) => ids[idName] ?? 0;
  return [
    {
      ...page,
      method: 'GET',
      handle: async (request) => openStoredForm(request, await editorOf(request), idIn(request)),
    },
    {
      ...page,
      method: 'POST',
      handle: async (request) => handleForm(request, await editorOf(request), idIn(request)),
    },
  ];
}

/**
 * The two pages (GET and POST) of the form for a new object. The URL names the object's kind.
 *
 * @param editorOf returns null for a URL without a kind
 * @param choose   the page that asks for the kind
 */
export function newPagesByKind(
  path: string,
  editorOf: (request: DashboardRequest) => Editor | null,
  choose: (request: DashboardRequest) => DashboardAnswer,
): DashboardPage[] {
  const pageOf = (
    method: DashboardPage['method'],
    answer: (request: DashboardRequest, editor: Editor) => Promise<DashboardAnswer>,
  ): DashboardPage => ({
    method,
    path,
    scope: 'write',
    async handle(request) {
      const editor = editorOf(request);
      return editor === null ? choose(request) : answer(request, editor);
    },
  });
  return [pageOf('GET', openNewForm), pageOf('POST', (request, editor) => handleForm(request, editor, null))];
}

type KindChoice = {
  readonly title: string;
  readonly question: string;
  readonly kinds: readonly {
    readonly href: string;
    readonly label: string;
    readonly help: string;
    /** Name of the kind in declarations. */
    readonly name: string;
  }[];
  readonly cancel: string;
};

/** The page that asks for the kind of a new resource. It has one link for each kind. */
export function kindChoice({ title, question, kinds, cancel }: KindChoice): DashboardAnswer {
  return {
    title,
    styles: [FORM_STYLE],
    body: html`${pageHead(title)}
<p class="soft">${question}</p>
<ul class="plain-list kinds">${kinds.map(
      ({ href, label, help, name }) =>
        html`<li><a href="${href}">${label}</a> <code class="soft">${name}</code>${
          help === '' ? '' : html`<p class="hint">${withCode(help)}</p>`
        }</li>`,
    )}</ul>
<p><a href="${cancel}">Cancel</a></p>`,
  };
}
