import { rowsFields } from './editing.ts';
import { type Entries, rowsAt, textAt } from './entries.ts';
import type { Field, ResourceForm } from './fields.ts';

/** A message of the API about one field. */
type FieldMessage = {
  readonly path: string;
  readonly label: string;
  readonly message: string;
};

/** The messages about a draft that was not accepted. */
export type Messages = {
  readonly fields: readonly FieldMessage[];
  /** Messages about the resource as a whole. */
  readonly general: readonly string[];
};

export const NO_MESSAGES: Messages = { fields: [], general: [] };

type FieldError = { readonly pointer: string; readonly message: string };

/**
 * Assigns the errors of the API's answer to fields.
 *
 * @param problem the API's answer; its message about the whole resource is used if no error names a field
 */
export function messagesOf(
  form: ResourceForm,
  draft: { readonly entries: Entries; readonly body: Readonly<Record<string, unknown>> },
  { message: whole, errors }: { readonly message: string; readonly errors: readonly FieldError[] },
): Messages {
  const fields: FieldMessage[] = [];
  const general: string[] = [];
  for (const { pointer, message } of errors) {
    const place = placeOf(form, draft.entries, draft.body, pointer);
    if (place === null) general.push(pointer === '' ? message : `${pointer.slice(1)} ${message}`);
    else {
      const { path, label, member } = place;
      fields.push({ path, label, message: member === null ? message : `${quoted(member)}: ${message}` });
    }
  }
  return fields.length === 0 && general.length === 0 ? { fields, general: [whole] } : { fields, general };
}

function quoted(member: string): string {
  return `"${member.length > 60 ? `${member.slice(0, 60)}…` : member}"`;
}

/**
 * Finds keys that occur twice in a map of the form. The API cannot
 * find them, because each key of a JSON object occurs only once.
 */
export function repeatedKeys(form: ResourceForm, entries: Entries): FieldMessage[] {
  return rowsFields(form).flatMap(({ path, field, control }) => {
    if (!control.isMap) return [];
    const keys = rowsAt(entries, path).map((index) => ({
      index,
      key: textAt(entries, `${path}.${index}.key`),
    }));
    const repeated = keys.filter(({ key }, at) => keys.findIndex((other) => other.key === key) < at);
    return repeated.map(({ index }) => ({
      path: `${path}.${index}.key`,
      label: `${field.label} ${index + 1}: Name`,
      message: 'is given twice',
    }));
  });
}

/** The place of a message in a form. */
type Place = {
  /** Path of the field, row or group: `headers.0.key`, `otlp_headers.1`, `webhook`. */
  readonly path: string;
  /** The labels on the path, for people: `Headers 1: Key`. */
  readonly label: string;
  /** The member of a set or list that the message is about; null: the message is about the whole value. */
  readonly member: string | null;
};

type Json = Readonly<Record<string, unknown>>;

/**
 * Finds the field that a JSON pointer of the API points to. If the pointer leads into a value,
 * or to an attribute that the form does not have, the result is the nearest field above.
 *
 * @param entries entries without empty rows, so that the indexes of rows are the same as in the body
 * @param body    the body that the API judged
 * @returns null: the message is about the resource as a whole
 */
export function placeOf(form: ResourceForm, entries: Entries, body: Json, pointer: string): Place | null {
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return placeIn({ fields: form.fields, above: '', labels: '' }, entries, body, steps);
}

type Scope = { readonly fields: readonly Field[]; readonly above: string; readonly labels: string };

function placeIn(
  { fields, above, labels }: Scope,
  entries: Entries,
  body: Json,
  steps: string[],
): Place | null {
  const [name, ...rest] = steps;
  const field = fields.find((each) => each.name === name);
  if (field === undefined) return null;
  const { control } = field;
  const path = `${above}${field.name}`;
  const label = `${labels}${field.label}`;
  const here = { path, label, member: null };
  const value = body[field.name];
  if (control.type === 'group') {
    const inner = { fields: control.fields, above: `${path}.`, labels };
    return placeIn(inner, entries, isObject(value) ? value : {}, rest) ?? here;
  }
  if (control.type !== 'rows') return { ...here, member: memberOf(value, rest[0]) };
  const [step, ...below] = rest;
  const index = control.isMap ? rowOfKey(entries, path, step) : Number(step ?? -1);
  if (index === null || !rowsAt(entries, path).includes(index)) return here;
  const row = { path: `${path}.${index}`, label: `${label} ${index + 1}`, member: null };
  const inner = { fields: control.fields, above: `${row.path}.`, labels: `${row.label}: ` };
  return placeIn(inner, entries, {}, below) ?? row;
}

/**
 * Finds a row of a map by the row's key. The order of keys in the body may differ
 * from the order of rows, because JavaScript objects list numeric keys first.
 */
function rowOfKey(entries: Entries, path: string, key: string | undefined): number | null {
  return rowsAt(entries, path).find((index) => textAt(entries, `${path}.${index}.key`) === key) ?? null;
}

function memberOf(value: unknown, step: string | undefined): string | null {
  if (step === undefined || !Array.isArray(value)) return null;
  const member: unknown = value[Number(step)];
  return typeof member === 'string' ? member : null;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
