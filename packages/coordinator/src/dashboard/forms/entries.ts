import type { Form } from '../../web/forms.ts';

/**
 * The content of a form: the values of its inputs by name, as a browser sends them. The name of
 * an input is the path of its attribute: `name`, `headers.0.key`, `webhook.headers.2.value`. A
 * name with a tilde does not belong to an attribute, but tells the server how to read the form:
 *
 * - `password~stored`: a secret is stored, and is kept if the input is empty
 * - `headers.0~row`: the stored row from which this row was filled in
 * - `password~remove`: the stored secret must be removed
 * - `monitor_ids~shown`: an option that the form showed;
 *   an option that it did not show keeps its stored state
 * - `monitor_ids~find`: the text of a search for options
 */
export type Entries = ReadonlyMap<string, readonly string[]>;

export type WritableEntries = Map<string, string[]>;

/** The value of an input that has one value; '' if the input was not sent. */
export function textAt(entries: Entries, name: string): string {
  return entries.get(name)?.[0] ?? '';
}

export function hasNote(entries: Entries, name: string, note: Note): boolean {
  return entries.has(`${name}~${note}`);
}

export type Note = 'stored' | 'row' | 'remove' | 'shown' | 'find';

export function noteName(name: string, note: Note): string {
  return `${name}~${note}`;
}

/** The indexes of a list's rows, ascending. A row exists if one of its inputs was sent. */
export function rowsAt(entries: Entries, name: string): number[] {
  const found = new Set<number>();
  for (const key of entries.keys()) {
    const index = rowIndexOf(key, name);
    if (index !== null) found.add(index);
  }
  return [...found].sort((a, b) => a - b);
}

/** The index of the row that an input belongs to; null: it belongs to no row of this list. */
function rowIndexOf(key: string, name: string): number | null {
  if (!key.startsWith(`${name}.`)) return null;
  const index = /^(0|[1-9]\d{0,3})(?:[.~]|$)/.exec(key.slice(name.length + 1))?.[1];
  return index === undefined ? null : Number(index);
}

/**
 * Returns a copy in which the rows of a list have other indexes.
 *
 * @param to returns the new index of a row; null: the row is left out
 */
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

/**
 * `shown`: the form contains the stored secrets. `kept`: the form does not contain the stored secrets, which
 * stay in the database.
 */
export type SecretsInForm = 'kept' | 'shown';

/** The content of a form that was sent. */
export type Draft = {
  readonly entries: Entries;
  readonly intent: Intent;
  /** Entity tag of the resource that the form was filled in from; '' for a new resource. */
  readonly version: string;
  /** Idempotency key, so that a form that is sent twice creates one resource. */
  readonly key: string;
  readonly secrets: SecretsInForm;
};

/** The pressed button, with the path of the field that it belongs to. */
export type Intent = {
  readonly name: 'save' | 'add' | 'remove' | 'find' | 'secrets' | 'other';
  readonly path: string;
};

/** Names of the hidden fields that are no attributes of the resource. */
export const VERSION_FIELD = 'draft_version';
export const KEY_FIELD = 'draft_key';

const INTENTS = ['save', 'add', 'remove', 'find', 'secrets'] as const;

/** Reads a draft. If the Enter key sends a form, an old browser names no button. Such a form means `save`. */
export function draftIn(form: Form): Draft {
  return {
    entries: new Map(form.names().map((name) => [name, form.all(name)])),
    intent: intentOf(form.text('intent')),
    version: form.text(VERSION_FIELD),
    key: form.text(KEY_FIELD),
    secrets: form.text('secrets') === 'shown' ? 'shown' : 'kept',
  };
}

function intentOf(text: string): Intent {
  const [word = '', path = ''] = text.split(' ');
  if (word === '') return { name: 'save', path: '' };
  return { name: INTENTS.find((intent) => intent === word) ?? 'other', path };
}

/** The text that the user searches for in a field that refers to other resources. */
export function findIn(entries: Entries, name: string): string {
  return textAt(entries, noteName(name, 'find')).trim();
}
