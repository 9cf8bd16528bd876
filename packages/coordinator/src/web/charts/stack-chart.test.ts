import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stackOf } from './stack-chart.ts';

test('layers of a stack lie on each other and add up', () => {
  const column = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(fc.option(column), { maxLength: 100 }), (columns) => {
      const layers = [0, 1, 2, 3, 4].map((layer) => columns.map((values) => values?.[layer] ?? null));
      const bars = stackOf(layers);
      columns.forEach((values, index) => {
        const stack = bars.map((layer) => layer[index] ?? null);
        if (values === null) {
          expect(stack).toEqual([null, null, null, null, null]);
          return;
        }
        expect(stack[0]?.low).toBe(0);
        stack.slice(1).forEach((bar, above) => {
          expect(bar?.low).toBe(stack[above]?.high);
        });
        expect(stack.at(-1)?.high).toBe(values.reduce((sum, each) => sum + each, 0));
      });
    }),
  );
});

test('a column that lacks one value is empty', () => {
  expect(
    stackOf([
      [1, 2],
      [3, null],
    ]),
  ).toEqual([
    [{ low: 0, high: 1 }, null],
    [{ low: 1, high: 4 }, null],
  ]);
});
