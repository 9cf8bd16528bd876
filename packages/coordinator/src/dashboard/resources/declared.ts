import { isResourceKind } from '@svc/shared/resources/registry.ts';
import { masked } from '@svc/shared/resources/secrets.ts';
import { MASK } from '@svc/shared/secret.ts';
import type { Called } from '../../api/in-process.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardAnswer } from '../dashboard-page.ts';
import type { Field, ResourceForm } from '../forms/fields.ts';
import { pageHead } from '../page-parts.ts';

type Shown = {
  readonly form: ResourceForm;
  readonly noun: string;
  readonly list: { readonly href: string; readonly label: string };
  nameOf(resource: Readonly<Record<string, unknown>>): string;
  readonly leftOut?: readonly string[];
  after(id: string | null): string;
  readonly heading?: string;
};

/**
 * The page of a resource that a file declares. The page has
 * no form, because users change such a resource in the file.
 */
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

/** The head above the settings of a resource, with a link to the resource's own page if it has one. */
export function headOf(
  { list, nameOf, after, heading }: Pick<Shown, 'list' | 'nameOf' | 'after' | 'heading'>,
  resource: Readonly<Record<string, unknown>>,
): Html {
  const name = nameOf(resource);
  const href = after(String(resource.id));
  if (href === list.href) return pageHead(heading ?? `Settings of ${name}`, { above: [list] });
  return pageHead(heading ?? 'Settings', { above: [list, { href, label: name }] });
}

/**
 * Where a resource is declared. `as` is its name in the declared
 * file. `file` is the name of the file; null: the file is not known.
 */
type Declared = { readonly as: string; readonly file: string | null };

/**
 * Finds where a resource is declared; null: no file declares the resource.
 *
 * @param headers the headers of the API's answer with the resource
 */
export function declaredIn(headers: Called['headers']): Declared | null {
  const { 'svc-declared-as': as, 'svc-declared-in': file } = headers;
  return as === undefined ? null : { as, file: file === undefined ? null : decodeURIComponent(file) };
}

/** A notice with the name of the file that declares a resource, and with the resource's name in the file. */
export function declaredNotice(noun: string, kind: string, { as, file }: Declared) {
  const named = file === null ? html`a file` : html`<code>${file}</code>`;
  return html`<p class="notice">This ${noun} is declared in ${named} as <code>${kind}.${as}</code>. Change it there${
    file === null ? NO_HTML : html`; <a href="/declaration">see the state of the file</a>`
  }.</p>`;
}

type Json = Readonly<Record<string, unknown>>;

/** Returns the resource with its secrets masked. */
export function withoutSecrets({ kind }: ResourceForm, resource: Json): Json {
  if (kind === null) return resource;
  if (!isResourceKind(kind)) throw new TypeError(`no resource is called ${kind}`);
  return masked(kind, resource);
}

/**
 * A list of the attributes of a resource that have a value. Secrets are masked. The scheme and host of
 * a secret URL are shown, unless the API has masked the whole URL because the visitor may only read.
 */
export function facts(form: ResourceForm, resource: Json, leftOut: readonly string[] = []): Html {
  const shown = withoutSecrets(form, resource);
  const fields = form.fields.filter(({ name }) => !leftOut.includes(name));
  return html`<dl class="facts">${factsOf(fields, shown, resource)}</dl>`;
}

function factsOf(fields: readonly Field[], object: Json, clear: Json): Html[] {
  return fields.flatMap((field) => {
    const value = object[field.name] ?? null;
    const { control, label } = field;
    if (isUnset(value)) return [];
    if (control.type === 'group') return factsOf(control.fields, value as Json, clear[field.name] as Json);
    const shown = value === MASK ? maskedValue(clear[field.name]) : shownValue(field, value);
    return [html`<dt>${label}</dt><dd>${shown}</dd>`];
  });
}

/** The mask of a secret. If the secret is an http(s) URL, its scheme and host stand before the mask. */
function maskedValue(secret: unknown): string {
  const url = URL.parse(String(secret));
  const isWeb = url !== null && ['http:', 'https:'].includes(url.protocol);
  return isWeb ? `${url.origin}/${MASK}` : MASK;
}

function isUnset(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** A value in words for people. */
function shownValue({ control }: Field, value: unknown): Html | string {
  if (control.type === 'switch') return value === true ? 'yes' : 'no';
  if (control.type === 'choice')
    return control.options.find((option) => option.value === value)?.label ?? String(value);
  if (control.type === 'number') return `${value}${control.unit === undefined ? '' : ` ${control.unit}`}`;
  if (control.type === 'rows')
    return html`<ul class="plain-list">${rowTexts(control, value).map((text) => html`<li>${text}</li>`)}</ul>`;
  if (Array.isArray(value)) return value.join(', ');
  return String(value);
}

function rowTexts({ isMap, fields }: Extract<Field['control'], { type: 'rows' }>, value: unknown): string[] {
  if (isMap) return Object.entries(value as Json).map(([key, member]) => `${key}: ${member}`);
  return (value as readonly Json[]).map((row) =>
    fields.map((field) => String(shownValue(field, row[field.name] ?? ''))).join(' · '),
  );
}

/** A value in a few words, for a comparison. */
export function shortValue(field: Field, value: unknown): Html | string {
  if (isUnset(value)) return html`<span class="soft">nothing</span>`;
  if (field.control.type === 'rows' || Array.isArray(value)) {
    const count = Object.keys(value as object).length;
    return `${count} ${count === 1 ? 'entry' : 'entries'}`;
  }
  if (field.control.type === 'group') return NO_HTML;
  return shownValue(field, value);
}
