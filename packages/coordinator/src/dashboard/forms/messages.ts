import { rowsFields } from './editing.ts';
import { type Entries, rowsAt, textAt } from './entries.ts';
import type { ResourceForm } from './fields.ts';
import { placeOf } from './places.ts';

/** A message of the API at the field that it is about. */
export type FieldMessage = {
  readonly path: string;
  readonly label: string;
  readonly message: string;
};

/** What a form says about a draft that was not accepted. */
export type Messages = {
  readonly fields: readonly FieldMessage[];
  /** About the resource as a whole. */
  readonly general: readonly string[];
};

export const NO_MESSAGES: Messages = { fields: [], general: [] };

type FieldError = { readonly pointer: string; readonly message: string };

/**
 * Sorts the errors of the API's answer by field.
 *
 * @param problem its message is about the whole; it is shown where no error names a field
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

/** Keys that a map of the form has twice: no body can hold them, so that the API could not say it. */
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
