import { expect, test } from 'vitest';
import { portionsOf } from './resource-lists.ts';

const MIB = 1_024 * 1_024;

test.each([
  [[], []],
  [[0, 0, 0], [[1, 2, 3]]],
  [[MIB, 0], [[1, 2]]],
  [
    [MIB, 1],
    [[1], [2]],
  ],
  [
    [MIB / 2, MIB / 2, 1],
    [[1, 2], [3]],
  ],
  [
    [2 * MIB, 1, 3 * MIB, 3 * MIB],
    [[1], [2], [3], [4]],
  ],
])('rows of %j bytes are read in the portions %j', (sizes, portions) => {
  expect(portionsOf(sizes.map((bytes, index) => ({ id: index + 1, bytes })))).toEqual(portions);
});
