import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import { textUpTo } from './names.ts';

/** @param what names of the attributes that are searched: `title or slug` */
export function nameFilter(what: string) {
  return textUpTo(LIMITS.monitorName)
    .optional()
    .meta({
      description: `Only items whose ${what} contains this string. The case of a to z does not matter.`,
    });
}

/** @param types at least one */
export function typeFilter(types: readonly string[]) {
  const [first = '', ...others] = types;
  return z
    .enum([first, ...others], `must be one of ${types.join(', ')}`)
    .optional()
    .meta({ description: 'Only items of this type.' });
}

const IDS = new RegExp(`^[1-9]\\d{0,14}(?:,[1-9]\\d{0,14}){0,${LIMITS.listMaximum - 1}}$`);

/** Ids in a query, as numbers. */
export const idsFilter = z
  .string()
  .regex(IDS, `must be ids, at most ${LIMITS.listMaximum}, separated by commas`)
  .transform((text) => text.split(',').map(Number))
  .optional()
  .meta({
    description: `Only items with these ids, at most ${LIMITS.listMaximum}, separated by commas. Those that do not exist are left out.`,
    examples: ['12,13'],
  });
