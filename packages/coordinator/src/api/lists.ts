import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import { textUpTo } from './body-members.ts';
import { Problem } from './problem.ts';

/** Makes the schema of a whole number in a query. */
function wholeNumber(minimum: number, maximum: number) {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return (
    z
      .string()
      .regex(/^\d{1,16}$/, message)
      // A query parameter arrives as text, but the OpenAPI document declares it as an integer.
      .meta({ type: 'integer', pattern: undefined, minimum, maximum })
      .transform(Number)
      .pipe(z.number().min(minimum, message).max(maximum, message))
  );
}

const limit = wholeNumber(1, LIMITS.listMaximum)
  .default(LIMITS.listDefault)
  .meta({ description: `Maximum number of items (default ${LIMITS.listDefault}).` });

/** Query parameters of a list of declared resources, whose pages have an offset. */
export const offsetPage = z.object({
  limit,
  offset: wholeNumber(0, Number.MAX_SAFE_INTEGER)
    .default(0)
    .meta({ description: 'Number of items to skip at the start (default 0).' }),
});

/** Query parameters of a history, whose pages have a cursor. The newest row comes first. */
export const cursorPage = z.object({
  limit,
  cursor: z.string().max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
});

/** Makes the schema of an instant in a query, epoch ms. */
export function instantIn(description: string) {
  return wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().meta({ description });
}

export function listOf<T extends z.ZodType>(member: T) {
  const whole = z.number().int().min(0);
  return z
    .object({ data: z.array(member), total: whole, limit: whole, offset: whole })
    .meta(exampleOf(member, { total: 1, limit: LIMITS.listDefault, offset: 0 }));
}

export function historyOf<T extends z.ZodType>(member: T) {
  return z
    .object({ data: z.array(member), next_cursor: z.string().nullable() })
    .meta(exampleOf(member, { next_cursor: null }));
}

/** Makes the example of a page from the example of one member. */
function exampleOf(member: z.ZodType, envelope: object): { examples?: object[] } {
  const examples = member.meta()?.examples as unknown[] | undefined;
  return examples === undefined ? {} : { examples: [{ data: examples, ...envelope }] };
}

/**
 * Makes the cursor for the page that begins after the row
 * with these keys. Clients must not interpret a cursor.
 */
function encodeCursor(keys: readonly (number | string)[]): string {
  return Buffer.from(JSON.stringify(keys)).toString('base64url');
}

/**
 * Reads the keys in a cursor; null: there is no cursor, so the first page is wanted.
 *
 * @throws Problem when the text is no cursor of this list
 */
export function decodeCursor<T>(cursor: string | undefined, schema: z.ZodType<T>): T | null {
  if (cursor === undefined) return null;
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    const message = 'is not a cursor of this list';
    throw new Problem('malformed-request', 'the query is not valid', {
      errors: [{ pointer: '', parameter: 'cursor', message }],
    });
  }
}

/**
 * Makes a page of at most `limitOfPage` rows. The caller passes one
 * row more, if there is one: it shows that there is a next page.
 */
export function historyPage<Row, View>(
  rows: readonly Row[],
  limitOfPage: number,
  view: (row: Row) => View,
  keys: (row: Row) => readonly (number | string)[],
): { data: View[]; next_cursor: string | null } {
  const page = rows.slice(0, limitOfPage);
  const last = page.at(-1);
  const hasMore = rows.length > limitOfPage && last !== undefined;
  return { data: page.map(view), next_cursor: hasMore ? encodeCursor(keys(last)) : null };
}

/**
 * Makes the schema of the filter `name`.
 *
 * @param what names the searched attributes, for the description: `title or slug`
 */
export function nameFilter(what: string) {
  return textUpTo(LIMITS.monitorName)
    .optional()
    .meta({
      description: `Only items whose ${what} contains this string. The case of a to z does not matter.`,
    });
}

/**
 * Makes the schema of the filter `type`.
 *
 * @param types at least one
 */
export function typeFilter(types: readonly string[]) {
  const [first = '', ...others] = types;
  return z
    .enum([first, ...others], `must be one of ${types.join(', ')}`)
    .optional()
    .meta({ description: 'Only items of this type.' });
}

const IDS = new RegExp(`^[1-9]\\d{0,14}(?:,[1-9]\\d{0,14}){0,${LIMITS.listMaximum - 1}}$`);

/** Schema of a list of ids in a query. The parsed ids are numbers. */
export const idsFilter = z
  .string()
  .regex(IDS, `must be ids, at most ${LIMITS.listMaximum}, separated by commas`)
  .transform((text) => text.split(',').map(Number))
  .optional()
  .meta({
    description: `Only items with these ids, at most ${LIMITS.listMaximum}, separated by commas. Those that do not exist are left out.`,
    examples: ['12,13'],
  });
