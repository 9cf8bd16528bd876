import { de } from './de.ts';
import { en, type PageText } from './en.ts';

/** The languages of the status pages. To add a language, add its file and one line here. */
export const LANGUAGES = { en, de } as const satisfies Readonly<Record<string, PageText>>;
export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly Language[];

const DEFAULT: Language = 'en';

/** Maximum number of members of `Accept-Language` that are read. Browsers send only a few. */
const MOST_RANGES = 20;

/**
 * Returns the language of an answer: the language in the address, otherwise
 * the one that the browser prefers most, otherwise {@link DEFAULT}.
 *
 * @param asked value of `?lang=`; null: the address has none
 * @param acceptLanguage the header (RFC 9110, section 12.5.4); undefined: the request has none
 */
export function languageOf(asked: string | null, acceptLanguage: string | undefined): Language {
  const named = known(asked ?? '');
  if (named !== null) return named;
  let best: { language: Language; weight: number } | null = null;
  for (const range of (acceptLanguage ?? '').split(',', MOST_RANGES)) {
    const [tag = '', ...parameters] = range.split(';');
    const language = known(tag);
    const weight = weightOf(parameters);
    if (language !== null && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language ?? DEFAULT;
}

/** Returns the language of a tag: `de` for `de-AT`; null: the pages do not have this language. */
function known(tag: string): Language | null {
  const primary = tag.trim().toLowerCase().split('-')[0];
  return LANGUAGE_NAMES.find((language) => language === primary) ?? null;
}

function weightOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const value = /^\s*q\s*=(.*)$/i.exec(parameter)?.[1];
    if (value !== undefined) return Number(value) || 0;
  }
  return 1;
}

/** A text whose form depends on a number. */
export type Counted = { readonly one: string; readonly other: string };

/** Puts values in place of the place holders of a text. A place holder without a value stays visible. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (holder, name: string) => values[name] ?? holder);
}
