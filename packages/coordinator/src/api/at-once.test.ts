import { expect, test } from 'vitest';
import { AtOnce } from './at-once.ts';

test('what is beyond a bound is refused until one has ended, also by failing', async () => {
  const atOnce = new AtOnce();
  const { promise, reject } = Promise.withResolvers<void>();
  const mine = [
    { key: 'channel 1', most: 1 },
    { key: 'workspace 1', most: 2 },
  ];
  const running = atOnce.run('tests', mine, () => promise);
  await expect(atOnce.run('tests', mine, async () => {})).rejects.toMatchObject({ code: 'rate-limited' });
  const other = [{ key: 'channel 2', most: 1 }, ...mine.slice(1)];
  expect(await atOnce.run('tests', other, async () => 'done')).toBe('done');
  reject(new Error('failed'));
  await expect(running).rejects.toThrow('failed');
  expect(await atOnce.run('tests', mine, async () => 'done')).toBe('done');
});
