import { type Entries, noted, textAt } from './entries.ts';
import type { Field } from './fields.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * How the form refers to a row of the stored resource, whose secret it need not show: by the text of the first field,
 * such as the name of a header, and by its number among the rows with the same text. An index alone would name another
 * row once somebody else has changed the list.
 *
 * @returns the references of all rows, in their order
 */
export function referencesOf(rows: readonly Row[], fields: readonly Field[]): string[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const name = String(row[fields[0]?.name ?? ''] ?? '');
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    return `${number}:${name}`;
  });
}

/** The stored row that a row of the form came from; null: it is a new row, or the stored one is gone. */
export function storedRowOf(
  entries: Entries,
  path: string,
  stored: readonly Row[],
  fields: readonly Field[],
): Row | null {
  const reference = textAt(entries, noted(path, 'row'));
  if (reference === '') return null;
  return stored[referencesOf(stored, fields).indexOf(reference)] ?? null;
}

/** The members of a map as rows. */
function rowsOfMap(map: unknown): Row[] {
  if (typeof map !== 'object' || map === null) return [];
  return Object.entries(map).map(([key, value]) => ({ key, value }));
}

/** The rows of a list or map as it is stored. */
export function storedRows(value: unknown, isMap: boolean): Row[] {
  if (isMap) return rowsOfMap(value);
  return Array.isArray(value) ? value : [];
}
