import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NoteBatch, readBatch } from './note-batch.ts';

const notes = fc.array(fc.record({ id: fc.maxSafeNat(), bytes: fc.uint8Array({ maxLength: 20_000 }) }), {
  minLength: 1,
  maxLength: 8,
});

test('notes are read as they were added, whatever was in the batch before', () => {
  const batch = new NoteBatch();
  fc.assert(
    fc.property(notes, (added) => {
      for (const note of added) batch.add(note);
      expect(batch.last).toBe(added.at(-1)?.id);
      const found: typeof added = [];
      readBatch(batch.take(), (id, bytes) => found.push({ id, bytes: bytes.slice() }));
      expect(found).toEqual(added);
      expect(batch.isEmpty).toBe(true);
      expect(batch.take()).toHaveLength(0);
    }),
    { numRuns: 50 },
  );
});
