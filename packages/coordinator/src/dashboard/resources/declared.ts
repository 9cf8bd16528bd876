import type { Called } from '../../api/in-process.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { ResourceForm } from '../forms/fields.ts';
import type { DashboardAnswer } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { facts } from './facts.ts';

type Shown = {
  readonly form: ResourceForm;
  readonly noun: string;
  readonly list: { readonly href: string; readonly label: string };
  nameOf(resource: Readonly<Record<string, unknown>>): string;
  readonly leftOut?: readonly string[];
  after(id: string | null): string;
  readonly heading?: string;
};

/** The page of a resource that a file declares: it is changed there, so that there is nothing to fill in. */
export function declaredPage(
  shown: Shown,
  resource: Readonly<Record<string, unknown>>,
  declared: Declared,
): DashboardAnswer {
  const { form, noun, leftOut = [] } = shown;
  return {
    title: `Settings of ${shown.nameOf(resource)}`,
    body: html`${headOf(shown, resource)}
${declaredNotice(noun, form.kind ?? noun, declared)}
${facts(form, resource, leftOut)}`,
  };
}

/** The head over the settings of a resource, below its own page where it has one. */
export function headOf(
  { list, nameOf, after, heading }: Pick<Shown, 'list' | 'nameOf' | 'after' | 'heading'>,
  resource: Readonly<Record<string, unknown>>,
): Html {
  const name = nameOf(resource);
  const href = after(String(resource.id));
  if (href === list.href) return pageHead(heading ?? `Settings of ${name}`, { above: [list] });
  return pageHead(heading ?? 'Settings', { above: [list, { href, label: name }] });
}

/** Where a file declares a resource: its name there, and that of the file where it is known. */
export type Declared = { readonly as: string; readonly file: string | null };

/** @param headers of the answer that read the resource; null: no file declares it */
export function declaredIn(headers: Called['headers']): Declared | null {
  const { 'svc-declared-as': as, 'svc-declared-in': file } = headers;
  return as === undefined ? null : { as, file: file === undefined ? null : decodeURIComponent(file) };
}

/** Says which file declares a resource, and under which name. */
export function declaredNotice(noun: string, kind: string, { as, file }: Declared) {
  const named = file === null ? html`a file` : html`<code>${file}</code>`;
  return html`<p class="notice">This ${noun} is declared in ${named} as <code>${kind}.${as}</code>. Change it there${
    file === null ? NO_HTML : html`; <a href="/declaration">see how it stands with the file</a>`
  }.</p>`;
}
