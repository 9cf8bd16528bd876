import fc from 'fast-check';
import { expect, test } from 'vitest';
import { derivedUuid } from './ids.ts';

const part = fc.oneof(fc.string(), fc.integer());
const parts = fc.array(part, { maxLength: 5 });
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

test('the same parts and key give the same UUID of version 8, other ones another', () => {
  fc.assert(
    fc.property(parts, parts, key, key, (one, other, oneKey, otherKey) => {
      const id = derivedUuid(one, oneKey);
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(derivedUuid([...one], Uint8Array.from(oneKey))).toBe(id);
      expect(derivedUuid(one)).not.toBe(id);
      const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
      expect(derivedUuid(other, oneKey) === id).toBe(isSame(one, other));
      expect(derivedUuid(one, otherKey) === id).toBe(isSame([...oneKey], [...otherKey]));
    }),
  );
});

test.each([
  [['a b'], ['a', 'b']],
  [['1'], [1]],
  [['a', ''], ['a']],
  [['a","b'], ['a', 'b']],
])('%j and %j are other parts', (one, other) => {
  expect(derivedUuid(one)).not.toBe(derivedUuid(other));
});
