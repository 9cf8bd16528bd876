import { MOST_TOGETHER, type ResourceKind, TABLE_OF } from '../configuration/kinds/kinds.ts';
import type { DeclaredEntry, Entries } from './declaration.ts';

/** What tells resources apart that are not read or written together. */
type Head = { readonly kind: ResourceKind; readonly isNew?: boolean };

/** Consecutive resources of one kind, as many as are read or written together. */
export function* ofOneKind<T>(resources: Iterable<T>, of: (resource: T) => Head): Generator<readonly T[]> {
  let some: T[] = [];
  let last: Head | null = null;
  for (const resource of resources) {
    const head = of(resource);
    if (last !== null && !(isAlike(head, last) && some.length < MOST_TOGETHER[TABLE_OF[last.kind]])) {
      yield some;
      some = [];
    }
    some.push(resource);
    last = head;
  }
  if (some.length > 0) yield some;
}

function isAlike(head: Head, other: Head): boolean {
  return head.kind === other.kind && head.isNew === other.isNew;
}

/** An entry with its position in the declaration, from 0. */
export type PositionedEntry = { readonly position: number; readonly entry: DeclaredEntry };

export function* positioned(entries: Entries): Generator<PositionedEntry> {
  for (let position = 0; position < entries.length; position += 1) {
    const entry = entries.at(position);
    if (entry !== undefined) yield { position, entry };
  }
}
