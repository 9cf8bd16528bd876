import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultMessage } from './request-input.ts';

const messagesOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: defaultMessage }).error?.issues.map(({ message }) => message);

describe('an error whose schema has no message', () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ['a missing member', z.object({ a: z.string() }), {}, 'is required'],
    ['no string', z.string(), 5, 'must be a string'],
    ['no list', z.array(z.string()), 'x', 'must be a list'],
    ['no object', z.strictObject({}), [], 'must be an object'],
    ['no whole number', z.int(), 1.5, 'must be a whole number'],
    ['no number', z.number(), 'x', 'must be a number'],
    ['no boolean', z.boolean(), 1, 'must be true or false'],
    ['too many members', z.array(z.number()).max(1), [1, 2], 'may have at most 1 members'],
    ['too few characters', z.string().min(2), 'a', 'must have at least 2 characters'],
    ['too large a number', z.number().max(5), 6, 'must be at most 5'],
    ['too small a number', z.number().min(5), 4, 'must be at least 5'],
    ['no member of a set', z.enum(['a', 'b']), 'c', 'must be one of a, b'],
    ['another literal', z.literal('a'), 'c', 'must be a'],
    ['an unknown member', z.strictObject({}), { a: 1 }, 'is unknown'],
    ['another form', z.string().regex(/^a$/), 'b', 'has the wrong form'],
    ['no instant', z.iso.datetime(), 'b', 'must be an instant as in 2027-01-01T00:00:00Z'],
    ['none of several types', z.union([z.string(), z.number()]), true, 'is not valid'],
  ])('has one of ours: %s', (_name, schema, value, message) => {
    expect(messagesOf(schema, value)).toEqual([message]);
  });

  test('has its own message if its schema has one', () => {
    expect(messagesOf(z.string('must be a name'), 5)).toEqual(['must be a name']);
  });
});
