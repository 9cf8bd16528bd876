import { expect, test } from 'vitest';
import { processMemory } from './process-memory.ts';

test('a collection of this process frees what nothing refers to', async () => {
  const seen = new WeakRef(new Array(1_000_000).fill(0.5));
  // A WeakRef holds its target until the end of the turn in which it was made.
  await new Promise<void>((resolve) => setImmediate(resolve));
  processMemory.collect();
  expect(seen.deref()).toBeUndefined();
  expect(processMemory.residentBytes()).toBeGreaterThan(1_024 ** 2);
});
