import { html, NO_HTML } from '../../web/html.ts';
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
};

/** The page of a resource that a file declares: it is changed there, so that there is nothing to fill in. */
export function declaredPage(
  { form, noun, leftOut = [], list, nameOf, after }: Shown,
  resource: Readonly<Record<string, unknown>>,
  declared: { readonly declaredAs: string; readonly headers: Headers },
): DashboardAnswer {
  const name = nameOf(resource);
  const above = [list, { href: after(String(resource.id)), label: name }];
  return {
    title: `Settings of ${name}`,
    body: html`${pageHead('Settings', { above })}
${declaredNotice(noun, form.definition.kind, declared)}
${facts(form, resource, leftOut)}`,
  };
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
