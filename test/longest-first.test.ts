import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONGEST } from './support/longest-first.ts';

test('the files that are begun first are there', () => {
  expect(Object.keys(LONGEST).filter((file) => !existsSync(file))).toEqual([]);
});
