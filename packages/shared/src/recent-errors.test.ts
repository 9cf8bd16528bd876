import { expect, test } from 'vitest';
import { RecentErrors } from './recent-errors.ts';

test('equal errors are one, with their number, first and last time', () => {
  const errors = new RecentErrors();
  errors.addError({ region: 'hosta-fra', tries: 1 }, 'cannot publish', 1_000);
  errors.addError({ event: 'refusal', region: 'hosta-par' }, 'cannot publish', 2_000);
  errors.addError({ region: 'hosta-fra', tries: 2 }, 'cannot publish', 3_000);
  expect(errors.list()).toEqual([
    { message: 'cannot publish', detail: 'region=hosta-fra', count: 2, firstAt: 1_000, lastAt: 3_000 },
    { message: 'cannot publish', detail: 'region=hosta-par', count: 1, firstAt: 2_000, lastAt: 2_000 },
  ]);
});

test('twenty are kept, and long ones are cut', () => {
  const errors = new RecentErrors();
  for (let number = 0; number < 50; number += 1)
    errors.addError({ error: new Error(`e${number} ${'x'.repeat(9_000)}`) }, 'failed', number);
  const kept = errors.list();
  expect(kept).toHaveLength(20);
  expect(kept[0]?.detail).toMatch(/^error=e49 x{400}/);
  expect(kept[0]?.detail).toHaveLength(500);
});
