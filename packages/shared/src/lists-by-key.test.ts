import { expect, test } from 'vitest';
import { appendTo } from './lists-by-key.ts';

test('each key has its values in the order in which they came', () => {
  const lists = new Map<number, string[]>();
  appendTo(lists, 1, 'a');
  appendTo(lists, 2, 'b');
  appendTo(lists, 1, 'c');
  expect([...lists]).toEqual([
    [1, ['a', 'c']],
    [2, ['b']],
  ]);
});
