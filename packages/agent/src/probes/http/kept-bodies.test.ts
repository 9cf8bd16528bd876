import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrowingBuffer } from './kept-bodies.ts';

test('holds what was appended, and takes at most twice its size, or 1 KiB', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 30 }), (pieces) => {
      const buffer = new GrowingBuffer();
      let taken = 0;
      for (const piece of pieces) {
        taken += buffer.growthFor(piece.length);
        buffer.append(Buffer.from(piece), 0, piece.length);
      }
      expect(buffer.view()).toEqual(Buffer.concat(pieces));
      expect(taken).toBeGreaterThanOrEqual(buffer.length);
      expect(taken).toBeLessThanOrEqual(Math.max(1_024, 2 * buffer.length));
    }),
  );
});

test('does not grow beyond its limit', () => {
  const buffer = new GrowingBuffer(5_000);
  let taken = 0;
  for (let length = 0; length < 5_000; length += 500) {
    taken += buffer.growthFor(500);
    buffer.append(Buffer.alloc(500), 0, 500);
  }
  expect(taken).toBe(5_000);
});
