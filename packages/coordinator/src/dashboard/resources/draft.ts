import type { Form } from '../../web/forms.ts';
import { type Entries, noted, textAt } from '../forms/entries.ts';
import type { SecretsInForm } from '../forms/to-entries.ts';

/** A form as it was sent. */
export type Draft = {
  readonly entries: Entries;
  readonly intent: Intent;
  /** Entity tag of the resource that the form was filled in with; '' for a new one. */
  readonly version: string;
  /** Key of the creation, so that a form that is sent twice creates once. */
  readonly key: string;
  readonly secrets: SecretsInForm;
};

/** The button that was pressed, with the path that it is about. */
export type Intent = {
  readonly name: 'save' | 'add' | 'remove' | 'find' | 'secrets' | 'other';
  readonly path: string;
};

/** Names of fields that are not of the resource. */
export const VERSION_FIELD = 'draft_version';
export const KEY_FIELD = 'draft_key';

const INTENTS = ['save', 'add', 'remove', 'find', 'secrets'] as const;

/** Reads a draft. A form without a button was sent by the Enter key of an old browser: it saves. */
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

/** The text of the search in a field that refers to others. */
export function findIn(entries: Entries, name: string): string {
  return textAt(entries, noted(name, 'find')).trim();
}
