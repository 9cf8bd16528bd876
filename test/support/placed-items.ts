import type { Placed } from '@svc/shared/bag.ts';
import fc from 'fast-check';
import { expect } from 'vitest';

type Holder = {
  readonly size: number;
  add(item: Placed): void;
  delete(item: Placed): void;
};

/**
 * Adds items and takes them out at random, and compares with a set.
 *
 * @param look looks at the holder after each step
 */
export function expectHolds<H extends Holder>(
  create: () => H,
  { items: most, steps }: { readonly items: number; readonly steps: number },
  look: (holder: H, expected: ReadonlySet<Placed>) => void,
): void {
  const changes = fc.array(fc.record({ item: fc.nat(most - 1), isAdded: fc.boolean() }), {
    maxLength: steps,
  });
  fc.assert(
    fc.property(changes, (made) => {
      const items: Placed[] = Array.from({ length: most }, () => ({ place: -1 }));
      const holder = create();
      const expected = new Set<Placed>();
      for (const { item, isAdded } of made) {
        const changed = items[item] as Placed;
        if (!isAdded) holder.delete(changed);
        else if (!expected.has(changed)) holder.add(changed);
        if (isAdded) expected.add(changed);
        else expected.delete(changed);
        expect(holder.size).toBe(expected.size);
        look(holder, expected);
      }
      for (const item of items) expect(item.place === -1).toBe(!expected.has(item));
    }),
  );
}
