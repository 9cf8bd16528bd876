import { expect, test } from 'vitest';
import { AtOnce, InTurn } from './at-once.ts';

test('work beyond a bound is refused until other work has ended or failed', async () => {
  const atOnce = new AtOnce();
  const { promise, reject } = Promise.withResolvers<void>();
  const mine = [
    { key: 'channel 1', most: 1 },
    { key: 'workspace 1', most: 2 },
  ];
  const running = atOnce.runBounded('tests', mine, () => promise);
  await expect(atOnce.runBounded('tests', mine, async () => {})).rejects.toMatchObject({
    code: 'rate-limited',
  });
  const other = [{ key: 'channel 2', most: 1 }, ...mine.slice(1)];
  expect(await atOnce.runBounded('tests', other, async () => 'done')).toBe('done');
  reject(new Error('failed'));
  await expect(running).rejects.toThrow('failed');
  expect(await atOnce.runBounded('tests', mine, async () => 'done')).toBe('done');
});

const NEVER = new AbortController().signal;

test('the work of an owner runs in the order of the calls, also after a failure', async () => {
  const inTurn = new InTurn<string>();
  const first = Promise.withResolvers<string>();
  const begun: string[] = [];
  const asked = ['one', 'two', 'three'].map((name) =>
    inTurn.runInTurn('owner', NEVER, () => {
      begun.push(name);
      return name === 'one' ? first.promise : Promise.resolve(name);
    }),
  );
  expect(await inTurn.runInTurn('other owner', NEVER, async () => 'done')).toBe('done');
  expect(begun).toEqual(['one']);
  first.reject(new Error('failed'));
  await expect(asked[0]).rejects.toThrow('failed');
  expect(await Promise.all(asked.slice(1))).toEqual(['two', 'three']);
});

test('a caller that leaves gives up its place at once, and the others keep their order', async () => {
  const inTurn = new InTurn<string>();
  const first = Promise.withResolvers<string>();
  const leaving = new AbortController();
  const running = inTurn.runInTurn('owner', NEVER, () => first.promise);
  const left = inTurn.runInTurn('owner', leaving.signal, async () => 'begun');
  let isBegun = false;
  const behind = inTurn.runInTurn('owner', NEVER, async () => {
    isBegun = true;
  });
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: 'unavailable' });
  expect(isBegun).toBe(false);
  first.resolve('first');
  expect(await running).toBe('first');
  await behind;
});
