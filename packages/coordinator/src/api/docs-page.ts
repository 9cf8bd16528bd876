import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';

/** Style of the page at /docs: light or dark, as the reader's system prefers. */
const STYLE = `:root{color-scheme:light dark;--line:light-dark(#d5d9df,#3a4048);--soft:light-dark(#5b6570,#a3adb8);--box:light-dark(#f5f6f8,#1d2126);--link:light-dark(#0b57d0,#8ab4f8)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:78rem;background:light-dark(#fff,#14171a);color:light-dark(#1c2126,#e6e9ec);overflow-wrap:anywhere}
a{color:var(--link)}code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.875em}
h1{font-size:1.6rem;margin:.5rem 0}h2{margin:2.5rem 0 0;border-bottom:1px solid var(--line)}h3{margin:0 0 .25rem;font-size:1rem}h4{margin:1rem 0 .25rem;font-size:.9rem;color:var(--soft)}
section{padding:1.25rem 0;border-bottom:1px solid var(--line)}p{margin:.25rem 0 .5rem}
nav ul{list-style:none;margin:.25rem 0 1rem;padding:0;font-size:.85rem}nav a{text-decoration:none;display:flex;gap:.4rem}nav li{margin:.15rem 0}nav summary,details summary{cursor:pointer}
b.method{display:inline-block;flex:none;min-width:4.2em;font:600 .78rem ui-monospace,monospace}
.get{color:light-dark(#0b57d0,#8ab4f8)}.post{color:light-dark(#146c2e,#7fd18b)}.put,.patch{color:light-dark(#8a5000,#f0b35c)}.delete{color:light-dark(#b3261e,#f2958e)}
dl{margin:0}dt{margin-top:.5rem}dt code:first-child{font-weight:600}dd{margin:0 0 0 1rem}.type,.note{color:var(--soft);font-size:.875rem}
pre{overflow:auto;max-height:24rem;margin:.25rem 0;padding:.75rem;background:var(--box);border:1px solid var(--line);border-radius:6px;overflow-wrap:normal;line-height:1.4}
ul.answers{margin:.25rem 0;padding-left:1.1rem}
details{margin:.4rem 0}
@media(min-width:62rem){nav summary{list-style:none}nav details::details-content{content-visibility:visible;block-size:auto}body{display:grid;grid-template-columns:19rem minmax(0,1fr);gap:0 2.5rem}header{grid-column:1/-1}nav{position:sticky;top:0;max-height:100vh;overflow:auto;padding:1rem 0;align-self:start}}`;

/**
 * Content security policy of the page. It allows only the page's own style: no script, no image, no frame.
 */
export const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Json;
};
type Answer = { readonly description: string; readonly headers?: Json; readonly content?: Json };
type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly { readonly token?: readonly string[] }[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Json };
  readonly responses: Readonly<Record<string, Answer | { readonly $ref: string }>>;
};
type Listed = { readonly path: string; readonly method: string; readonly operation: Operation };
type Document = {
  readonly info: { readonly title: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
};

/** Renders the OpenAPI document as one HTML page. The page loads no script and no other file. */
export async function docsPage(json: Json): Promise<string> {
  const document = json as unknown as Document;
  const text = new SchemaText(document.components.schemas);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Listed => ({ path, method, operation })),
  );
  const groups = [...Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')];
  const page = await html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}: HTTP API</title><style>${raw(STYLE)}</style></head><body>
<header><h1>${document.info.title}: HTTP API</h1>${document.info.description.split('\n\n').map((each) => html`<p>${prose(each)}</p>`)}
<p>Send <code>Authorization: Bearer &lt;token&gt;</code>. The same as <a href="/v1/openapi.json">OpenAPI 3.1</a>.</p></header>
<nav aria-label="Operations">${groups.map(([tag, members]) => contents(tag, members))}
<p><a href="#schemas">Schemas</a></p></nav>
<main>${groups.map(([tag, members]) => html`<h2>${tag}</h2>${members.map((each) => section(each, document, text))}`)}
<h2 id="schemas">Schemas</h2>${Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      html`<section id="${name}"><h3><code>${name}</code></h3><p>${prose(String(schema.description ?? ''))}</p>${text.members(schema)}${example('Example', text.exampleOf(schema))}</section>`,
  )}</main></body></html>`;
  return String(page);
}

function contents(tag: string, members: readonly Listed[]) {
  return html`<details><summary>${tag}</summary><ul>${members.map(
    ({ path, method, operation }) =>
      html`<li><a href="#${operation.operationId}">${badge(method)}<span>${path.replace(/^\/v1/, '')}</span></a></li>`,
  )}</ul></details>`;
}

function badge(method: string) {
  return html`<b class="method ${method}">${method.toUpperCase()}</b>`;
}

function section({ path, method, operation }: Listed, document: Document, text: SchemaText) {
  const { operationId, summary, description, parameters, requestBody } = operation;
  const body = jsonOf(requestBody);
  return html`<section id="${operationId}"><h3>${badge(method)} <code>${path}</code></h3>
<p>${summary}.</p>${description === undefined ? '' : html`<p>${prose(description)}</p>`}
<p class="note">${tokenOf(operation)}</p>
${parameters.length === 0 ? '' : html`<h4>Parameters</h4><dl>${parameters.map(parameterLine)}</dl>`}
${body === null ? '' : html`<h4>Body</h4>${text.describe(body)}`}
${example('Request', requestText({ path, method, operation }, document, text), true)}
<h4>Answers</h4>${answers(operation, document, text)}</section>`;
}

function parameterLine({ name, in: place, description = '', schema }: Parameter) {
  const fallback = schema.default === undefined ? '' : ` Default: ${JSON.stringify(schema.default)}.`;
  return html`<dt><code>${name}</code> <span class="type">${place}, ${typeText(schema)}</span></dt><dd>${prose(description)}${fallback}</dd>`;
}

/** Names the token that an operation needs, as its `security` says. */
function tokenOf({ security = [] }: Operation): string {
  const role = security[0]?.token?.[0];
  if (role === undefined) return 'No token.';
  return role === 'operator' ? "The operator's token." : `A token of scope ${role}${LARGER[role] ?? ''}.`;
}

const LARGER: Readonly<Record<string, string>> = { read: ', write or admin', write: ' or admin' };

/**
 * Renders the answers of an operation. All refusals are in
 * one line, because their bodies have the same members.
 */
function answers({ responses }: Operation, { components }: Document, text: SchemaText) {
  const all = Object.entries(responses).map(([status, response]) => ({
    status,
    answer: '$ref' in response ? components.responses[response.$ref.split('/').at(-1) ?? ''] : response,
    isProblem: '$ref' in response,
  }));
  const given = all.filter(({ isProblem }) => !isProblem);
  const refused = all.filter(({ isProblem }) => isProblem);
  return html`<ul class="answers">${given.map(({ status, answer }) => {
    const schema = jsonOf(answer);
    const headers = Object.keys(answer?.headers ?? {}).filter((name) => name !== 'X-Request-Id');
    return html`<li><code>${status}</code> ${prose(answer?.description ?? '')}${headers.length === 0 ? '' : html` <span class="note">Headers: ${headers.join(', ')}.</span>`}
${schema === null ? '' : html`${text.describe(schema)}${example('Example', text.exampleOf(schema))}`}</li>`;
  })}</ul><p class="note">Or a <a href="#Problem"><code>Problem</code></a>: ${refused
    .map(({ status, answer }) => `${status} (${answer?.description ?? ''})`)
    .join(', ')}.</p>`;
}

function jsonOf(holder: { readonly content?: Json } | undefined): Json | null {
  const { schema } = (holder?.content?.['application/json'] ?? {}) as { schema?: Json };
  return schema ?? null;
}

function requestText({ path, method, operation }: Listed, { servers }: Document, text: SchemaText): string {
  const schema = jsonOf(operation.requestBody);
  const body = schema === null ? undefined : text.exampleOf(schema);
  const url = `${servers[0]?.url ?? ''}${path.replace(/\{\w+\}/g, '12')}`;
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'${url}'`,
    ...(operation.security?.length === 0 ? [] : [`-H "Authorization: Bearer $SVC_API_TOKEN"`]),
    ...(body === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`,
        ]),
  ];
  return lines.join(' \\\n  ');
}

/**
 * Renders an example. A text is shown unchanged, any other value as JSON.
 * The element can take the focus, so that the keyboard can scroll it.
 */
function example(title: string, value: unknown, isOpen = false) {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return html`<details ${isOpen ? 'open' : ''}><summary>${title}</summary><pre tabindex="0">${text}</pre></details>`;
}

type Json = { readonly [name: string]: unknown };

/**
 * A line in the list of an object's members. `name` is the path of the member, for example `headers[].key`.
 */
type Member = { name: string; type: string; isRequired: boolean; notes: string };

/** Resolves references in schemas, and describes schemas for people. */
class SchemaText {
  readonly #schemas: Readonly<Record<string, Json>>;

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.#schemas = schemas;
  }

  /**
   * Returns the names of the component schemas that a schema
   * refers to. A choice (`oneOf`) may refer to several.
   */
  namesOf(schema: Json): string[] {
    const choices = (schema.oneOf ?? schema.allOf ?? [schema]) as Json[];
    return choices.flatMap(({ $ref }) => (typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? []) : []));
  }

  /**
   * Returns the first example of a schema, or undefined. Of
   * a choice, it is the first example of the first schema.
   */
  exampleOf(schema: Json): unknown {
    const named = this.#schemas[this.namesOf(schema)[0] ?? ''];
    return ((named ?? schema).examples as unknown[] | undefined)?.[0];
  }

  /** Renders the members of a schema. If it refers to named schemas, renders links to them. */
  describe(schema: Json) {
    const names = this.namesOf(schema);
    if (names.length > 0) return html`<p>${links(names)}</p>`;
    const { properties } = schema as { properties?: { data?: { items?: Json } } };
    const listed = this.namesOf(properties?.data?.items ?? {});
    return listed.length > 0
      ? html`<p>A page of ${links(listed)}: <code>data</code>, <code>total</code>, <code>limit</code>, <code>offset</code>.</p>`
      : this.members(schema);
  }

  members(schema: Json) {
    const members = membersOf(schema, '');
    if (members.length === 0) return '';
    return html`<dl>${members.map(
      ({ name, type, isRequired, notes }) =>
        html`<dt><code>${name}</code> <span class="type">${type}${isRequired ? ', required' : ''}</span></dt>${notes === '' ? '' : html`<dd>${prose(notes)}</dd>`}`,
    )}</dl>`;
  }
}

/** Renders a text, with the words between backticks as code. */
function prose(text: string) {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
}

function links(names: readonly string[]) {
  return names.map((name, at) => html`${at === 0 ? '' : ' or '}<a href="#${name}"><code>${name}</code></a>`);
}

/** Describes a type in words: `string, 1 to 256 characters`. */
function typeText(schema: Json): string {
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(' or ');
  const types = ([schema.type ?? []].flat() as string[]).map((type) => NAMES[type] ?? type);
  const { items } = schema as { items?: Json };
  const inner = items === undefined ? '' : ` of ${typeText(items)}`;
  return `${types.join(' or ') || 'anything'}${inner}${boundsText(schema)}`;
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  array: 'list',
  object: 'object',
};

function boundsText({ minimum, maximum, minLength, maxLength, maxItems }: Json): string {
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  return [
    range(minimum === -Number.MAX_SAFE_INTEGER ? undefined : minimum, most, ''),
    range(minLength, maxLength, ' characters'),
    range(undefined, maxItems, ''),
  ].join('');
}

function range(from: unknown, to: unknown, unit: string): string {
  if (from === undefined && to === undefined) return '';
  if (from === undefined) return `, at most ${to}${unit}`;
  return to === undefined ? `, ${from} or more${unit}` : `, ${from} to ${to}${unit}`;
}

function membersOf(schema: Json, prefix: string): Member[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, Json>>;
    required?: readonly string[];
  };
  return Object.entries(properties).flatMap(([name, member]) => {
    // In the schema of a request, a read-only member without a
    // type is ignored. The page says so in place of the type.
    const isIgnored = member.readOnly === true && member.type === undefined && member.anyOf === undefined;
    const line = {
      name: `${prefix}${name}`,
      type: isIgnored ? 'ignored' : typeText(member),
      isRequired: required.includes(name),
      notes: notesOf(member),
    };
    const { value, mark } = innerObject(member);
    return [line, ...membersOf(value, `${prefix}${name}${mark}`)];
  });
}

function notesOf(schema: Json): string {
  const { description = '', default: fallback } = schema as { description?: string; default?: unknown };
  return fallback === undefined || fallback === null
    ? description
    : `${description} Default: ${JSON.stringify(fallback)}.`.trim();
}

/**
 * Finds the object schema inside the schema of a member: the schema itself, the object of a nullable
 * member, or the entries of a list. `mark`: text that joins the names of the member and its inner members.
 */
function innerObject(schema: Json): { value: Json; mark: string } {
  const choices = (schema.anyOf ?? [schema]) as Json[];
  const value =
    choices.find(({ properties, items }) => properties !== undefined || items !== undefined) ?? {};
  if (value.items === undefined) return { value, mark: '.' };
  const { value: entry } = innerObject(value.items as Json);
  return { value: entry, mark: '[].' };
}
