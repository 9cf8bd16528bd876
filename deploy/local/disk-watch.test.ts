import { expect, test } from 'vitest';
import { diskState } from './disk-watch.ts';

const MEBIBYTE = 1024 ** 2;

test.each([
  ['ample', 1_000, 'ample'],
  ['ample', 63, 'low'],
  ['low', 64, 'ample'],
  ['low', 0.5, 'full'],
  ['full', 3, 'full'],
  ['full', 4, 'low'],
  ['full', 100, 'ample'],
] as const)('a disk that was %s and has %d MiB is %s', (before, free, after) => {
  expect(diskState(before, free * MEBIBYTE)).toBe(after);
});
