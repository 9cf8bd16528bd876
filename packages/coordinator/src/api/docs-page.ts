import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';

type Json = { readonly [name: string]: unknown };
type Operation = {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly unknown[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
  }[];
  readonly requestBody?: { readonly content: Json };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Json }>>;
};

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark;overflow-wrap:anywhere}
code{font-family:ui-monospace,monospace}pre{overflow:auto;padding:1rem;border:1px solid #8884}
h3{margin:2rem 0 0}details{margin:.5rem 0}dt{font-weight:600}dd{margin-left:1.5rem}summary{cursor:pointer}`;

/** Nothing but this page's own style: no script, no image, no frame. */
export const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The OpenAPI document as one page that people can read; needs no script. */
export async function docsPage(document: Json): Promise<string> {
  const { info, paths, components } = document as {
    info: { title: string; description: string };
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Json> };
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const groups = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '');
  const page = await html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${info.title}: API</title><style>${raw(STYLE)}</style></head><body>
<h1>${info.title}: HTTP API</h1>
<p>${info.description}</p>
<p>Send <code>Authorization: Bearer &lt;token&gt;</code>. The same as <a href="/v1/openapi.json">OpenAPI 3.1</a>.</p>
<main>${[...groups].map(
    ([tag, members]) =>
      html`<h2>${tag}</h2>${members.map(
        ({
          path,
          method,
          operation,
        }) => html`<section><h3><code>${method} ${path}</code></h3><p>${operation.summary}</p>
${operation.parameters.length === 0 ? '' : html`<dl>${operation.parameters.map(parameter)}</dl>`}
${operation.requestBody === undefined ? '' : html`<p>Body: ${schemaOf(operation.requestBody.content)}</p>`}
<ul>${Object.entries(operation.responses).map(
          ([status, { description, content }]) =>
            html`<li><code>${status}</code> ${description} ${content === undefined || Number(status) >= 400 ? '' : schemaOf(content)}</li>`,
        )}</ul></section>`,
      )}`,
  )}
<h2>Schemas</h2>${Object.entries(components.schemas).map(
    ([name, schema]) => html`<section id="${name}"><h3><code>${name}</code></h3>${details(schema)}</section>`,
  )}</main></body></html>`;
  return String(page);
}

function parameter({ name, in: place, description }: Operation['parameters'][number]) {
  return html`<dt><code>${name}</code> (${place})</dt><dd>${description ?? ''}</dd>`;
}

/** Links to the named schemas, or the schema itself. */
function schemaOf(content: Json) {
  const { schema } = (content['application/json'] ?? {}) as { schema?: Json };
  if (schema === undefined) return '';
  const names = [...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name ?? '',
  );
  if (names.length === 0) return details(schema);
  return names.map((name) => html`<a href="#${name}"><code>${name}</code></a> `);
}

function details(schema: Json) {
  return html`<details><summary>Schema</summary><pre>${JSON.stringify(schema, null, 2)}</pre></details>`;
}
