import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DeclaredEntry } from './declaration.ts';
import { PackedEntries, packed } from './packed-entries.ts';

/** An entry of some number of characters. */
const entryOf = (position: number, length: number): DeclaredEntry => ({
  kind: 'svc_status_page_component_group',
  name: `g${position}`,
  attributes: { name: 'ä'.repeat(length), page_id: '1' },
  line: position + 1,
  column: 3,
});

test('entries of any sizes are the same, in whatever order they are asked for', () => {
  const length = fc.oneof(fc.nat(40), fc.constantFrom(100_000, 300_000));
  fc.assert(
    fc.property(fc.array(length, { maxLength: 12 }), fc.infiniteStream(fc.nat(13)), (lengths, order) => {
      const entries = lengths.map((each, position) => entryOf(position, each));
      const held = new PackedEntries(packed(entries));
      expect(held.length).toBe(entries.length);
      for (const position of order.take(6)) expect(held.at(position)).toEqual(entries[position]);
    }),
    { numRuns: 20 },
  );
});

test('a piece has at most a hundred entries, and 256 KiB unless one entry is larger', () => {
  const lengths = [...Array<number>(250).fill(1), 200_000, 100_000, 300_000, 1];
  const pieces = packed(lengths.map((length, position) => entryOf(position, length)));
  expect(pieces.map(({ entries }) => entries)).toEqual([100, 100, 51, 1, 1, 1]);
});
