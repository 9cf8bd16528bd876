import { html, raw } from 'hono/html';
import { type Json, prose, SchemaText, typeText } from './docs-schema.ts';
import { STYLE } from './docs-style.ts';

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

/** The OpenAPI document as one page for people. It needs no script and loads nothing. */
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

/** The token that an operation needs, from the document's security. */
function tokenOf({ security = [] }: Operation): string {
  const role = security[0]?.token?.[0];
  if (role === undefined) return 'No token.';
  return role === 'operator' ? "The operator's token." : `A token of scope ${role}${LARGER[role] ?? ''}.`;
}

const LARGER: Readonly<Record<string, string>> = { read: ', write or admin', write: ' or admin' };

/** The answers: successes in full, and refusals, which all look the same, in one line each. */
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
 * Shows text as it is and any other value as JSON. It can be focused with the keyboard, so that it can be
 * scrolled.
 */
function example(title: string, value: unknown, isOpen = false) {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return html`<details ${isOpen ? 'open' : ''}><summary>${title}</summary><pre tabindex="0">${text}</pre></details>`;
}
