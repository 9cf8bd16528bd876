import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { processMemory, returnMemoryAfterStart } from './process-memory.ts';

test('a collection of this process frees what nothing refers to', async () => {
  const seen = new WeakRef(new Array(1_000_000).fill(0.5));
  // A WeakRef holds its target until the end of the turn in which it was made.
  await new Promise<void>((resolve) => setImmediate(resolve));
  processMemory.collect();
  expect(seen.deref()).toBeUndefined();
  expect(processMemory.residentBytes()).toBeGreaterThan(1_024 ** 2);
});

const MIB = 1_024 ** 2;

function started(residentMiB: number) {
  const clock = new FakeClock();
  let collections = 0;
  const memory = {
    residentBytes: () => residentMiB * MIB,
    collect: () => {
      collections += 1;
    },
  };
  const cancel = returnMemoryAfterStart({ memory, clock });
  return { clock, cancel, collections: () => collections };
}

test('memory is returned once, when the start has settled', () => {
  const { clock, collections } = started(170);
  clock.advance(9_000);
  expect(collections()).toBe(0);
  clock.advance(2_000);
  expect(collections()).toBe(1);
  clock.advance(3_600_000);
  expect(collections()).toBe(1);
});

test('a large process does not collect after its start', () => {
  const { clock, collections } = started(300);
  clock.advance(60_000);
  expect(collections()).toBe(0);
});

test('nothing is returned after the stop', () => {
  const { clock, cancel, collections } = started(170);
  cancel();
  clock.advance(60_000);
  expect(collections()).toBe(0);
});
