import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BAR_STATES, barClass, barPaths, barsBox } from './bars.ts';

const states = fc.array(fc.constantFrom(...BAR_STATES), { minLength: 1, maxLength: 90 });

test('the last bar that is drawn for a day is the bar of its state, and covers the others', () => {
  fc.assert(
    fc.property(states, (given) => {
      const drawn: string[] = [];
      const paths = barPaths(given.map((state) => ({ state })));
      for (const [, name, lines] of paths.matchAll(/<path class=(\w) d="([^"]+)"\/>/g)) {
        for (const [, from, width] of (lines ?? '').matchAll(/M(\d+) 0h(\d+)/g)) {
          for (let x = Number(from); x < Number(from) + Number(width); x += 1) {
            // Only higher bars may cover other bars.
            if (drawn[x] !== undefined) expect([drawn[x], 'de'.includes(name ?? '')]).toEqual(['o', true]);
            drawn[x] = name ?? '';
          }
        }
      }
      expect(drawn).toEqual(given.map(barClass));
    }),
  );
});

test('90 days are one short line, and a disruption another one on it', () => {
  const days = Array.from({ length: 90 }, (_, index) => ({
    state: index === 45 ? ('down' as const) : ('operational' as const),
  }));
  expect(barPaths(days)).toBe('<path class=o d="M0 0h90"/><path class=e d="M45 0h1"/>');
  expect(barsBox(90)).toBe('0 -20 90 40');
});
