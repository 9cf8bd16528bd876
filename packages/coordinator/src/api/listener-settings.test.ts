import { expect, test } from 'vitest';
import { connectionLimit } from './listener-settings.ts';

test.each([
  [1_024, 512],
  [256, 64],
  [1_048_576, 4_096],
  ['unlimited', 4_096],
])('with %s descriptors, %i are for connections', (soft, expected) => {
  expect(connectionLimit({ userLimits: { open_files: { soft } } })).toBe(expected);
});

test('the process reports its limit', () => {
  expect(connectionLimit()).toBeGreaterThanOrEqual(64);
});

test('later reports of the process include the network again', () => {
  connectionLimit();
  expect(Reflect.get(process.report, 'excludeNetwork')).toBe(false);
});
