import { z } from 'zod';

/** @param what names of the attributes that are searched: `title or slug` */
export function nameFilter(what: string) {
  return z
    .string()
    .max(256, 'may have at most 256 characters')
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
