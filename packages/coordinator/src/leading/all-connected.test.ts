import { expect, test } from 'vitest';
import { MemoryBus } from '../../../../test/support/memory-bus.ts';
import { allConnected } from './all-connected.ts';

test('several connections count as lost from the loss of the first one until all are back', () => {
  const [one, other] = [new MemoryBus(), new MemoryBus()];
  const all = allConnected([one, other]);
  const told: boolean[] = [];
  const cancel = all.onConnection((isConnected) => told.push(isConnected));
  other.setConnected(false);
  expect([all.isConnected, told]).toEqual([false, [false]]);
  one.setConnected(false);
  other.setConnected(true);
  expect([all.isConnected, told]).toEqual([false, [false]]);
  one.setConnected(true);
  expect([all.isConnected, told]).toEqual([true, [false, true]]);
  cancel();
  one.setConnected(false);
  expect(told).toEqual([false, true]);
});
