import { z } from 'zod';
import { nearest } from '../text/nearest.ts';

/*
 * Messages about values of the wrong type. A message is shown after the attribute's name: `timeout: must be a
 * number, not a string`.
 */

/** How messages name the type of a value. */
type Article = 'a string' | 'a number' | 'a boolean' | 'a list' | 'a mapping';

/** The message for a value of another type, or for a required value that is missing. */
export function expected(article: Article) {
  return (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null
      ? 'is required'
      : `must be ${article}, not ${articleOf(issue.input)}`;
}

function articleOf(value: unknown): Article {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'number' || typeof value === 'bigint') return 'a number';
  return typeof value === 'boolean' ? 'a boolean' : 'a mapping';
}

/** Maximum number of wrong entries of one list that are reported. */
const MOST_WRONG = 100;

/**
 * The schema of a list. If the list has too many entries, only this fault is reported, and the entries are
 * not read. Otherwise, entries are read up to the hundredth wrong entry, because 100,000 issues of zod take a
 * second.
 *
 * @param isWrong says whether an entry is wrong; left out: the schema says it, which costs more
 */
export function listOf<T>(
  schema: z.ZodType<T>,
  maximum = Number.POSITIVE_INFINITY,
  isWrong = (entry: unknown): boolean => !schema.safeParse(entry).success,
): z.ZodType<T[]> {
  const entries = z.array(schema, { error: expected('a list') });
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value)) return value;
      if (value.length > maximum) {
        context.addIssue({ code: 'custom', message: tooMany(value.length, maximum) });
        return z.NEVER;
      }
      if (value.length <= MOST_WRONG) return value;
      let wrong = 0;
      const last = value.findIndex((entry) => {
        if (isWrong(entry)) wrong += 1;
        return wrong === MOST_WRONG;
      });
      return last === -1 ? value : value.slice(0, last + 1);
    },
    maximum === Number.POSITIVE_INFINITY ? entries : entries.max(maximum),
  );
}

export function tooMany(count: number, maximum: number): string {
  return `has ${count} entries, but at most ${maximum} are allowed`;
}

/**
 * Returns `is not one of` and the allowed texts. The caller puts the wrong value, or the name of its
 * attribute, in front.
 */
export function notOneOf(options: readonly unknown[]): string {
  let text = textsOfOptions.get(options);
  if (text === undefined) {
    text = `is not one of ${options.join(', ')}`;
    textsOfOptions.set(options, text);
  }
  return text;
}

/**
 * Texts of {@link notOneOf} by their options. They are kept, because a large body may contain a hundred
 * thousand wrong choices from the same options.
 */
const textsOfOptions = new WeakMap<readonly unknown[], string>();

/**
 * The message for a text that is none of the options. It names the text, the options, and the nearest option.
 */
export function wrongChoice(given: string, options: readonly string[]): string {
  const meant = nearest(given, options);
  return `${quoted(given)} ${notOneOf(options)}${meant === null ? '' : `: did you mean "${meant}"?`}`;
}

/** The message for a text that is no region, without the text. */
export const NOT_A_REGION =
  'is not a region: see GET /v1/regions; SVC_EXTRA_REGIONS of the coordinator adds your own';

/** The message for a text that is none of the regions. It names the nearest one, or where regions are listed. */
export function wrongRegion(given: string, regions: readonly string[]): string {
  const meant = nearest(given, regions);
  return `${quoted(given)} ${meant === null ? NOT_A_REGION : `is not a region: did you mean "${meant}"?`}`;
}

/** Writes a value for a message. Do not use it for secrets. */
export function quoted(value: string): string {
  return `"${value.length > 60 ? `${value.slice(0, 60)}…` : value}"`;
}
