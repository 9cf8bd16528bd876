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
  declared: { readonly declaredAs: string; readonly headers: Headers },
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

/** Says which file declares a resource, and under which name. */
export function declaredNotice(
  noun: string,
  kind: string,
  { declaredAs, headers }: { readonly declaredAs: string; readonly headers: Headers },
) {
  const file = headers.get('svc-declared-in');
  const named = file === null ? html`a file` : html`<code>${decodeURIComponent(file)}</code>`;
  return html`<p class="notice">This ${noun} is declared in ${named} as <code>${kind}.${declaredAs}</code>. Change it there${
    file === null ? NO_HTML : html`; <a href="/declaration">see how it stands with the file</a>`
  }.</p>`;
}
