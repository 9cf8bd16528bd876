import { type Entries, hasNote, rowsAt, textAt, type WritableEntries, withRowsMoved } from './entries.ts';
import type { Control, Field, ResourceForm } from './fields.ts';
import { entriesOf } from './to-entries.ts';
import { resourceFrom } from './to-resource.ts';

/* The effects of a form's buttons on a draft. Each function returns the entries that the form shows next. */

type Rows = Extract<Control, { type: 'rows' }>;

/** A list of rows in a form, with the path of its inputs. */
export type RowsField = { readonly path: string; readonly field: Field; readonly control: Rows };

/** All lists of rows that a form can have, including the lists in its groups. */
export function rowsFields({ fields }: Pick<ResourceForm, 'fields'>, above = ''): RowsField[] {
  return fields.flatMap((field): RowsField[] => {
    const path = `${above}${field.name}`;
    const { control } = field;
    if (control.type === 'rows') return [{ path, field, control }];
    return control.type === 'group' ? rowsFields(control, `${path}.`) : [];
  });
}

/** Adds an empty row at the end of a list. If the path is not that of a list, nothing changes. */
export function withRow(form: ResourceForm, entries: Entries, path: string): Entries {
  const list = rowsFields(form).find((each) => each.path === path);
  if (list === undefined) return entries;
  const index = (rowsAt(entries, path).at(-1) ?? -1) + 1;
  const added = list.control.fields.map(({ name }): [string, string[]] => [`${path}.${index}.${name}`, ['']]);
  return new Map([...entries, ...added]);
}

/**
 * Removes a row.
 *
 * @param path path of the row: `headers.2`
 */
export function withoutRow(form: ResourceForm, entries: Entries, path: string): Entries {
  const [, list = '', index = ''] = /^(.*)\.(\d+)$/.exec(path) ?? [];
  if (!rowsFields(form).some((each) => each.path === list)) return entries;
  return withRowsMoved(entries, list, (row) => {
    if (row === Number(index)) return null;
    return row > Number(index) ? row - 1 : row;
  });
}

/** Removes empty rows, and gives each remaining row the index that it has in the resource. */
export function withoutEmptyRows(form: ResourceForm, entries: Entries): Entries {
  return rowsFields(form).reduce<Entries>((left, { path, control }) => {
    const kept = rowsAt(left, path).filter((index) => !isEmpty(left, `${path}.${index}`, control));
    return withRowsMoved(left, path, (index) => (kept.includes(index) ? kept.indexOf(index) : null));
  }, entries);
}

function isEmpty(entries: Entries, row: string, { fields }: Rows): boolean {
  return fields.every(({ name }) => {
    const path = `${row}.${name}`;
    return textAt(entries, path) === '' && !hasNote(entries, path, 'stored');
  });
}

/** Returns the draft with its stored secrets in clear text. */
export function withSecrets(
  form: ResourceForm,
  entries: Entries,
  stored: Readonly<Record<string, unknown>>,
): WritableEntries {
  const draft = resourceFrom(form, entries, stored);
  return entriesOf(form, draft, 'shown');
}
