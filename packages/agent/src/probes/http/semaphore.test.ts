import { expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

test('the allowed number start at once, the others in order as turns are released', () => {
  const turns = new Semaphore(2);
  const started: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) turns.acquire(() => started.push(name));
  expect(started).toEqual(['a', 'b']);
  turns.release();
  expect(started).toEqual(['a', 'b', 'c']);
  turns.release();
  turns.release();
  turns.release();
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  turns.acquire(() => started.push('e'));
  expect(started.at(-1)).toBe('e');
});
