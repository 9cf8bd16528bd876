import { expect, test } from 'vitest';
import { runOf } from './command.ts';

const surroundings = { environment: {}, out: { write: () => {} }, err: { write: () => {} } };

test('the first argument names the action, which gets the others', async () => {
  const calls: unknown[] = [];
  const note = (action: string) => async (args: readonly string[]) => void calls.push([action, ...args]);
  const run = runOf('token', { list: note('list'), create: note('create') });
  await run(['create', '--name', 'ci'], surroundings);
  await run(['list'], surroundings);
  expect(calls).toEqual([['create', '--name', 'ci'], ['list']]);
});

const nothing = async () => {};

test.each([
  ['two actions', { list: nothing, add: nothing }, 'use "key list" or "key add"'],
  ['three', { list: nothing, add: nothing, end: nothing }, 'use "key list", "key add" or "key end"'],
])('a missing action of %s is told with all of them', async (_, actions, use) => {
  for (const args of [[], ['other'], ['toString']]) {
    await expect(runOf('key', actions)(args, surroundings)).rejects.toThrow(`the action is missing: ${use}`);
  }
});
