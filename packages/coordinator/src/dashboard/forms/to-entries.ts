import { maskOf } from '@svc/shared/resources/secrets.ts';
import { type Entries, noteName, type SecretsInForm, textAt, type WritableEntries } from './entries.ts';
import type { Field, ResourceForm } from './fields.ts';

/**
 * Maximum number of chosen resources that a field shows
 * at first. Resources that it does not show stay linked.
 */
const MOST_SHOWN = 100;

type Writing = { readonly entries: WritableEntries; readonly secrets: SecretsInForm };

/**
 * Fills in a form from a resource.
 *
 * @param resource the resource in the API's answer. Its
 *   secrets are in clear text, because the token may write
 */
export function entriesOf(
  { fields }: ResourceForm,
  resource: Readonly<Record<string, unknown>>,
  secrets: SecretsInForm,
): WritableEntries {
  const entries: WritableEntries = new Map();
  writeFields({ entries, secrets }, fields, '', resource);
  return entries;
}

/** Fills in the form of a new resource from these values and the defaults of its definition. */
export function newEntries(
  form: ResourceForm,
  values: Readonly<Record<string, unknown>> = {},
): WritableEntries {
  const defaults = Object.fromEntries(form.fields.map(({ name, fallback }) => [name, fallback]));
  return entriesOf(form, { ...defaults, ...values }, 'shown');
}

function writeFields(
  writing: Writing,
  fields: readonly Field[],
  above: string,
  object: Readonly<Record<string, unknown>>,
): void {
  for (const field of fields) writeField(writing, field, `${above}${field.name}`, object[field.name] ?? null);
}

function writeField(writing: Writing, field: Field, path: string, value: unknown): void {
  const { entries } = writing;
  const { control } = field;
  switch (control.type) {
    case 'text':
      writeText(writing, field, path, value);
      break;
    case 'number':
    case 'choice':
    case 'local':
    case 'reference':
      entries.set(path, [value === null ? '' : String(value)]);
      break;
    case 'switch':
      if (value === true) entries.set(path, ['true']);
      break;
    case 'choices':
      writeMembers(entries, path, value);
      break;
    case 'references': {
      const shown = textsIn(value).slice(0, MOST_SHOWN);
      writeMembers(entries, path, shown);
      writeMembers(entries, noteName(path, 'shown'), shown);
      break;
    }
    case 'texts':
      entries.set(path, [asSent(textsIn(value).join('\n'), true)]);
      break;
    case 'rows':
      writeRows(writing, control, path, value);
      break;
    case 'group':
      if (typeof value === 'object' && value !== null) {
        writeFields(writing, control.fields, `${path}.`, value as Readonly<Record<string, unknown>>);
      }
  }
}

function writeText({ entries, secrets }: Writing, field: Field, path: string, value: unknown): void {
  const text = typeof value === 'string' ? value : '';
  const isMultiline = field.control.type === 'text' && field.control.isMultiline;
  if (field.secret === 'whole' && secrets === 'kept') {
    entries.set(path, ['']);
    if (value !== null) entries.set(noteName(path, 'stored'), ['true']);
    return;
  }
  entries.set(path, [asSent(secrets === 'kept' ? maskedText(field, text) : text, isMultiline)]);
}

/**
 * Returns the text that a form shows for a field while
 * secrets are hidden. The secret part of the text is masked.
 */
export function maskedText({ secret }: Field, text: string): string {
  if (secret === null || secret === 'whole') return text;
  return secret.isIn(text) ? maskOf({ value: text, part: secret }) : text;
}

function writeRows(
  writing: Writing,
  { fields, isMap }: Extract<Field['control'], { type: 'rows' }>,
  path: string,
  value: unknown,
): void {
  const rows = storedRows(value, isMap);
  const references = referencesOf(rows, fields);
  for (const [index, row] of rows.entries()) {
    writeFields(writing, fields, `${path}.${index}.`, row);
    writing.entries.set(noteName(`${path}.${index}`, 'row'), [references[index] ?? '']);
  }
}

function writeMembers(entries: WritableEntries, path: string, value: unknown): void {
  const members = textsIn(value);
  if (members.length > 0) entries.set(path, members);
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/**
 * The text that a browser sends for an input that was rendered with this value and not changed (HTML
 * Standard: "preprocessing the input stream", "value sanitization algorithm"). The result has LF as
 * line end. A single-line input loses its line ends, and NUL becomes the replacement character.
 */
export function asSent(text: string, isMultiline: boolean): string {
  const parsed = withLineFeeds(text).replaceAll('\u0000', '\ufffd');
  return isMultiline ? parsed : parsed.replaceAll('\n', '');
}

/** Converts the line ends of a text to LF. Browsers send CRLF. */
export function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Makes a reference to each row of a stored list. A form sends the reference with its own row, so
 * that the row can keep a secret that the form does not contain. A reference consists of the value
 * of the first field, such as a header's name, and the number of the row among rows with this value.
 * An index alone would not do: after somebody else changed the list, it would refer to another row.
 *
 * @returns the references of all rows, in their order
 */
function referencesOf(rows: readonly Row[], fields: readonly Field[]): string[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const name = String(row[fields[0]?.name ?? ''] ?? '');
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    return `${number}:${name}`;
  });
}

/**
 * The stored row from which a row of the form was filled in; null: the row is new, or the stored row was
 * removed.
 */
export function storedRowOf(
  entries: Entries,
  path: string,
  stored: readonly Row[],
  fields: readonly Field[],
): Row | null {
  const reference = textAt(entries, noteName(path, 'row'));
  if (reference === '') return null;
  return stored[referencesOf(stored, fields).indexOf(reference)] ?? null;
}

/** The entries of a map as rows. */
function rowsOfMap(map: unknown): Row[] {
  if (typeof map !== 'object' || map === null) return [];
  return Object.entries(map).map(([key, value]) => ({ key, value }));
}

/** The rows of a stored list or map. */
export function storedRows(value: unknown, isMap: boolean): Row[] {
  if (isMap) return rowsOfMap(value);
  return Array.isArray(value) ? value : [];
}
