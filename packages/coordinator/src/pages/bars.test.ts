import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BAR_STATES, barClass, barPaths, barsWidth } from './bars.ts';

const states = fc.array(fc.constantFrom(...BAR_STATES), { minLength: 1, maxLength: 90 });

test('each day has one bar, of its state and at its place', () => {
  fc.assert(
    fc.property(states, (given) => {
      const drawn: string[] = [];
      const paths = barPaths(given.map((state) => ({ state })));
      for (const [, name, lines] of paths.matchAll(/<path class="(\w)" d="([^"]+)"\/>/g)) {
        for (const [, from, width] of (lines ?? '').matchAll(/M(\d+) 20h(\d+)/g)) {
          for (let x = Number(from); x < Number(from) + Number(width); x += 6) {
            expect(drawn[x / 6]).toBeUndefined();
            drawn[x / 6] = name ?? '';
          }
        }
      }
      expect(drawn).toEqual(given.map(barClass));
    }),
  );
});

test('90 quiet days are one short line as wide as the drawing', () => {
  const paths = barPaths(Array.from({ length: 90 }, () => ({ state: 'operational' })));
  expect(paths).toBe(`<path class="o" d="M0 20h${barsWidth(90)}"/>`);
});
