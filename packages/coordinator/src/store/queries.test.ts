import { expect, test } from 'vitest';
import { readAhead } from './queries.ts';

/** Ids from 1, two in a page. */
const page = async (after: number, last: number) => [after + 1, after + 2].filter((id) => id <= last);
const itself = (id: number) => id;

test.each([0, 1, 2, 3, 4])('%i rows come in their order, once each', async (count) => {
  const read: number[] = [];
  for await (const ids of readAhead((after) => page(after, count), itself)) read.push(...ids);
  expect(read).toEqual(Array.from({ length: count }, (_, index) => index + 1));
});

test('one page is requested ahead, while the caller works on the current one', async () => {
  const asked: number[] = [];
  const read = readAhead((after) => {
    asked.push(after);
    return page(after, 10);
  }, itself);
  await read.next();
  expect(asked).toEqual([0, 2]);
  await read.return(undefined);
  expect(asked).toEqual([0, 2]);
});

test('a failed read is thrown when its page is taken, and never after the caller has stopped', async () => {
  const failing = () =>
    readAhead((after) => (after === 0 ? page(after, 10) : Promise.reject(new Error('lost'))), itself);
  const read = failing();
  expect((await read.next()).value).toEqual([1, 2]);
  await expect(read.next()).rejects.toThrow('lost');
  const stopped = failing();
  await stopped.next();
  await stopped.return(undefined);
});
