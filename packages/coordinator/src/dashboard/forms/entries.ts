/**
 * What a form holds: the values of its inputs by their names, as a browser sends them. The name of an input is the
 * path of its attribute: `name`, `headers.0.key`, `webhook.headers.2.value`. Names with a tilde are notes of the form
 * about itself:
 *
 * - `password~stored`: a secret is stored, and it stays where the input is empty
 * - `headers.0~row`: the row came from the stored resource, and which of its rows it was
 * - `password~remove`: the stored secret is to be removed
 * - `monitor_ids~shown`: a choice that was shown; those that were not shown stay as they are stored
 */
export type Entries = ReadonlyMap<string, readonly string[]>;

export type WritableEntries = Map<string, string[]>;

/** The one value of an input; '' when it was not sent. */
export function textAt(entries: Entries, name: string): string {
  return entries.get(name)?.[0] ?? '';
}

export function hasNote(entries: Entries, name: string, note: Note): boolean {
  return entries.has(`${name}~${note}`);
}

export type Note = 'stored' | 'row' | 'remove' | 'shown' | 'find';

export function noted(name: string, note: Note): string {
  return `${name}~${note}`;
}

/** The indexes of the rows of a list, in ascending order. A row is there when one of its inputs is. */
export function rowsAt(entries: Entries, name: string): number[] {
  const found = new Set<number>();
  for (const key of entries.keys()) {
    const index = rowIndexOf(key, name);
    if (index !== null) found.add(index);
  }
  return [...found].sort((a, b) => a - b);
}

/** Index of the row that an input belongs to; null: it belongs to no row of this list. */
function rowIndexOf(key: string, name: string): number | null {
  if (!key.startsWith(`${name}.`)) return null;
  const index = /^(0|[1-9]\d{0,3})(?:[.~]|$)/.exec(key.slice(name.length + 1))?.[1];
  return index === undefined ? null : Number(index);
}

/** A copy in which the rows of a list have other indexes. `to` answers null for a row that is left out. */
export function withRowsMoved(
  entries: Entries,
  name: string,
  to: (index: number) => number | null,
): WritableEntries {
  const moved: WritableEntries = new Map();
  for (const [key, values] of entries) {
    const index = rowIndexOf(key, name);
    if (index === null) {
      moved.set(key, [...values]);
      continue;
    }
    const target = to(index);
    const rest = key.slice(name.length + 1 + String(index).length);
    if (target !== null) moved.set(`${name}.${target}${rest}`, [...values]);
  }
  return moved;
}
