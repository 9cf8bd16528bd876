import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { nameSchema, noteText } from './body-members.ts';
import { nameFilter } from './lists.ts';

describe.each([
  ['name', nameSchema('a'), 256],
  ['filter by name', nameFilter('name'), 256],
  ['text', noteText('a'), 8_192],
] as const)('a %s', (_, schema, most) => {
  test.each(['a', 'ü', '\u{1f600}'])('may have as many characters as the document says: %s', (character) => {
    expect(schema.safeParse(character.repeat(most)).success).toBe(true);
    const { error } = schema.safeParse(character.repeat(most + 1));
    expect(error?.issues.map(({ message }) => message)).toEqual([`may have at most ${most} characters`]);
    expect(JSON.stringify(z.toJSONSchema(schema, { io: 'input' }))).toContain(`"maxLength":${most}`);
  });
});
