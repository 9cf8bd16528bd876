import { existsSync, globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONGEST } from './support/longest-first.ts';

test('the files that are begun first are there', () => {
  expect(Object.keys(LONGEST).filter((file) => !existsSync(file))).toEqual([]);
});

test('each file in a browser, and each of the whole system, has its seconds', () => {
  const files = globSync('test/{browser,e2e}/**/*.test.ts');
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((file) => !(file in LONGEST))).toEqual([]);
});
