import { de } from './de.ts';
import { en } from './en.ts';
import type { PageText } from './text.ts';

/** The languages of the status pages: a further one is one more file and one more line. The first is the default. */
export const LANGUAGES = { en, de } as const satisfies Readonly<Record<string, PageText>>;
export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly Language[];

const DEFAULT: Language = 'en';

/** Most members of `Accept-Language` that are read: browsers send a few. */
const MOST_RANGES = 20;

/**
 * The language of an answer: the one that the address asks for, else the best of the browser's.
 *
 * @param asked          value of `?lang=`; null: none
 * @param acceptLanguage the header (RFC 9110, section 12.5.4); undefined: none
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

/** `de-AT` is answered in `de`. */
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
