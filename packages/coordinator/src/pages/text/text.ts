import type { en } from './en.ts';

/** The form of a message file: the keys of the English one, each with a text. */
export type PageText = Texts<typeof en>;

type Texts<T> = { readonly [K in keyof T]: T[K] extends string ? string : Texts<T[K]> };

/** A text whose form depends on a number. */
export type Counted = { readonly one: string; readonly other: string };

/** Puts the values into the text's place holders. A place holder without a value stays, so that it is seen. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (holder, name: string) => values[name] ?? holder);
}
