import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { threadCpu } from '../../../../test/support/thread-cpu.ts';
import { containsText } from './compare.ts';

describe('the careful search agrees with the quick one', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 0, maxLength: 12 });

  test('on texts of few letters, where partial matches abound', () => {
    // Both texts are so long that the quick search is not used.
    const filler = 'ab'.repeat(4_000);
    fc.assert(
      fc.property(letters, letters, letters, (before, middle, after) => {
        const part = `${middle}${filler}${after}`;
        const text = `${before}${filler}${middle}${filler}${before}`;
        expect(text.length * part.length).toBeGreaterThan(10_000_000);
        expect(containsText(text, part)).toBe(text.includes(part));
        expect(containsText(`${text}${part}`, part)).toBe(true);
      }),
    );
  });

  test('on short ones', () => {
    fc.assert(
      fc.property(letters, letters, (text, part) => {
        expect(containsText(text, part)).toBe(text.includes(part));
      }),
    );
  });
});

test('the worst case for the quick search finds its answer in time', () => {
  const text = 'a'.repeat(2 * 1_024 * 1_024);
  const part = `${'a'.repeat(4_000)}b${'a'.repeat(4_000)}`;
  const cpuMs = threadCpu();
  for (let count = 0; count < 3; count += 1) expect(containsText(text, part)).toBe(false);
  // Each search takes some 10 ms. The quick search would take 2,400 ms.
  expect(cpuMs()).toBeLessThan(3_000);
});
