import type { Entries } from './entries.ts';
import type { Messages } from './messages.ts';
import type { SecretsInForm } from './to-entries.ts';

/** A resource that a field can refer to. */
export type ReferenceOption = { readonly id: string; readonly label: string; readonly note: string };

/** What a field that refers to other resources offers. */
export type References = {
  readonly options: readonly ReferenceOption[];
  /** The text that the options were searched with; '' without a search. */
  readonly find: string;
  /** Number of resources that the search found, offered or not. */
  readonly found: number;
  /** Number of all resources that can be referred to. */
  readonly total: number;
  /** Stored members that are not shown. They stay as they are. */
  readonly unshown: number;
};

/** Everything that a form shows beside its fields. */
export type FormView = {
  readonly entries: Entries;
  readonly messages: Messages;
  readonly secrets: SecretsInForm;
  /** Whether the resource exists: then some fields cannot change. */
  readonly isStored: boolean;
  /** Offers of the fields that refer to others, by the names of the fields. */
  readonly references: ReadonlyMap<string, References>;
  /** Path of the input that has the focus; null: none. */
  readonly focus: string | null;
};

/** The id of the element of an input, so that messages lead to it. */
export function elementId(path: string): string {
  return `field-${path}`;
}

/** What is wrong at a path. */
export function messagesAt({ messages }: FormView, path: string): string[] {
  return messages.fields.filter((each) => each.path === path).map(({ message }) => message);
}
