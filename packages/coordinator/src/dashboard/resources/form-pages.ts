import type { DashboardPage, DashboardRequest } from '../page.ts';
import { type Editor, openExisting, openNew, sent } from './editor.ts';

type EditorOf = (request: DashboardRequest) => Editor | Promise<Editor>;

/** The four pages of a form: opened and sent, for a new object and for one that exists. */
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
    { ...page, method: 'GET', handle: async (request) => openNew(request, await editorOf(request)) },
    { ...page, method: 'POST', handle: async (request) => sent(request, await editorOf(request), null) },
  ];
}

/** @param idName parameter of the path that has the id */
export function editPages(path: string, idName: string, editorOf: EditorOf): DashboardPage[] {
  const page = { path, scope: 'write' } as const;
  const idIn = ({ ids }: DashboardRequest) => ids[idName] ?? 0;
  return [
    {
      ...page,
      method: 'GET',
      handle: async (request) => openExisting(request, await editorOf(request), idIn(request)),
    },
    {
      ...page,
      method: 'POST',
      handle: async (request) => sent(request, await editorOf(request), idIn(request)),
    },
  ];
}
