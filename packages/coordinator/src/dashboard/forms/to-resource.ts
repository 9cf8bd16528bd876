import { type Entries, hasNote, noteName, rowsAt, textAt } from './entries.ts';
import type { Field, ResourceForm } from './fields.ts';
import { asSent, maskedText, storedRowOf, storedRows, withLineFeeds } from './to-entries.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Makes the request body from a filled-in form. This function does not validate the
 * body, because the API does. For example, it passes on a text that is no number.
 *
 * An unchanged field keeps its stored value. This matters for a secret that the form
 * does not show, and for a text with line ends or characters that browsers change.
 *
 * @param stored the current resource with its secrets in clear text; null: the resource is new
 */
export function resourceFrom(
  form: ResourceForm,
  entries: Entries,
  stored: Json | null,
): Record<string, unknown> {
  const chosen = form.chooser === null ? null : textAt(entries, form.chooser);
  const given = form.fields.filter(
    ({ name, control }) => control.type !== 'group' || chosen === null || name === chosen,
  );
  return { ...form.constants, ...readFields(entries, given, '', stored) };
}

function readFields(entries: Entries, fields: readonly Field[], above: string, stored: Json | null): Json {
  const members = fields.map((field): [string, unknown] => {
    const { name, isFixed } = field;
    const value = stored?.[name] ?? null;
    return [name, isFixed && stored !== null ? value : givenValue(entries, field, `${above}${name}`, value)];
  });
  return Object.fromEntries(members);
}

function givenValue(entries: Entries, field: Field, path: string, stored: unknown): unknown {
  const { control } = field;
  switch (control.type) {
    case 'text':
      return textOf(entries, field, path, stored);
    case 'number':
      return numberOf(textAt(entries, path).trim());
    case 'choice':
    case 'local':
    case 'reference':
      return textAt(entries, path) === '' ? null : textAt(entries, path);
    case 'switch':
      return entries.has(path);
    case 'choices':
      return entries.get(path) ?? null;
    case 'references':
      return referencesFrom(entries, path, stored);
    case 'texts':
      return linesOf(entries, path, stored);
    case 'rows':
      return rowsFrom(entries, control, path, stored);
    case 'group':
      return readFields(entries, control.fields, `${path}.`, isObject(stored) ? stored : null);
  }
}

function textOf(entries: Entries, field: Field, path: string, stored: unknown): string | null {
  const text = withLineFeeds(textAt(entries, path));
  if (field.secret === 'whole' && text === '' && hasNote(entries, path, 'stored')) {
    const isKept = !hasNote(entries, path, 'remove') && typeof stored === 'string';
    return isKept ? stored : null;
  }
  if (typeof stored === 'string' && isUntouched(field, text, stored)) return stored;
  return text === '' && !field.isRequired ? null : text;
}

function isUntouched(field: Field, text: string, stored: string): boolean {
  const isMultiline = field.control.type === 'text' && field.control.isMultiline;
  return [stored, maskedText(field, stored)].some((shown) => asSent(shown, isMultiline) === text);
}

/** The number in a text; the text itself if it is no number, so that the API refuses it with a message. */
function numberOf(text: string): number | string | null {
  if (text === '') return null;
  const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : text;
}

/** Returns the chosen ids, and the stored ids that the form did not show. */
function referencesFrom(entries: Entries, path: string, stored: unknown): string[] {
  const shown = new Set(entries.get(noteName(path, 'shown')));
  const others = Array.isArray(stored) ? stored.filter((id: string) => !shown.has(id)) : [];
  return [...new Set([...others, ...(entries.get(path) ?? [])])];
}

function linesOf(entries: Entries, path: string, stored: unknown): unknown {
  const text = withLineFeeds(textAt(entries, path));
  if (Array.isArray(stored) && text === asSent(stored.join('\n'), true)) return stored;
  const lines = text.split('\n').map((line) => line.trim());
  const texts = lines.filter((line) => line !== '');
  return texts.length === 0 ? null : texts;
}

function rowsFrom(
  entries: Entries,
  { isMap, fields }: Extract<Field['control'], { type: 'rows' }>,
  path: string,
  stored: unknown,
): unknown {
  const known = storedRows(stored, isMap);
  const rows = rowsAt(entries, path).map((index) => {
    const row = `${path}.${index}`;
    return readFields(entries, fields, `${row}.`, storedRowOf(entries, row, known, fields));
  });
  // If no row is left, a stored null or empty list stays as it is: both
  // look the same to people, but give the resource different versions.
  if (rows.length === 0) return known.length === 0 ? stored : null;
  return isMap ? Object.fromEntries(rows.map(({ key, value }) => [key, value])) : rows;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
