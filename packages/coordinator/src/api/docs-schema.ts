import { html } from 'hono/html';

export type Json = { readonly [name: string]: unknown };

/** A member of an object as a line of a list: `headers[].key`. */
type Member = { name: string; type: string; isRequired: boolean; notes: string };

/** Resolves references in schemas, and describes schemas for people. */
export class SchemaText {
  readonly #schemas: Readonly<Record<string, Json>>;

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.#schemas = schemas;
  }

  /** Names of the component schemas that a schema refers to: one, or several choices. */
  namesOf(schema: Json): string[] {
    const choices = (schema.oneOf ?? schema.allOf ?? [schema]) as Json[];
    return choices.flatMap(({ $ref }) => (typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? []) : []));
  }

  /** The first example. Of a choice of schemas it is the example of the first. */
  exampleOf(schema: Json): unknown {
    const named = this.#schemas[this.namesOf(schema)[0] ?? ''];
    return ((named ?? schema).examples as unknown[] | undefined)?.[0];
  }

  /** The members of a schema. Named schemas become links. */
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

/** Text in which the words between backticks are code. */
export function prose(text: string) {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
}

function links(names: readonly string[]) {
  return names.map((name, at) => html`${at === 0 ? '' : ' or '}<a href="#${name}"><code>${name}</code></a>`);
}

/** Describes a type: `string, 1 to 256 characters`. */
export function typeText(schema: Json): string {
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
    // Members that are ignored when they are sent back say only that.
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

/** The object inside a member: the member itself, a nullable object, or a list's entry. */
function innerObject(schema: Json): { value: Json; mark: string } {
  const choices = (schema.anyOf ?? [schema]) as Json[];
  const value =
    choices.find(({ properties, items }) => properties !== undefined || items !== undefined) ?? {};
  if (value.items === undefined) return { value, mark: '.' };
  const { value: entry } = innerObject(value.items as Json);
  return { value: entry, mark: '[].' };
}
