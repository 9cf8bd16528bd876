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
  ['one action', { rotate: nothing }, 'use "key rotate"'],
  ['two', { list: nothing, add: nothing }, 'use "key list" or "key add"'],
  ['three', { list: nothing, add: nothing, end: nothing }, 'use "key list", "key add" or "key end"'],
])('the error about a missing or unknown action of %s lists all actions', async (_, actions, use) => {
  const run = runOf('key', actions);
  for (const args of [[], ['--json']])
    await expect(run(args, surroundings)).rejects.toThrow(`the action is missing: ${use}`);
  for (const name of ['frobnicate', 'toString'])
    await expect(run([name], surroundings)).rejects.toThrow(`there is no action ${name}: ${use}`);
});

test('the error about a misspelt action names the action that was probably meant', async () => {
  const run = runOf('key', { list: nothing, rotate: nothing });
  await expect(run(['rotat'], surroundings)).rejects.toThrow(
    'there is no action rotat: did you mean "key rotate"?',
  );
});
