import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COORDINATOR = 'packages/coordinator/src';

const isTest = (file: string): boolean => file.endsWith('.test.ts');

function linesOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1, 0);
}

/**
 * Lines of tests for each line of code, comments and empty lines included. Tests of a folder are those beside its files, and
 * the suite that runs it from outside: all channels of `notify/`, or the random worlds of the evaluation with their oracle.
 */
test.each([
  { what: 'notify', folders: 'notify', suite: 'conformance' },
  { what: 'recording and evaluation', folders: '{recording,evaluation}', suite: 'simulation' },
])('$what has at least 1.4 lines of tests for a line of code', ({ folders, suite }) => {
  const files = globSync(`${COORDINATOR}/${folders}/**/*.ts`, { cwd: ROOT });
  const outside = globSync(`test/${suite}/**/*.ts`, { cwd: ROOT });
  const code = linesOf(files.filter((file) => !isTest(file)));
  const tests = linesOf(files.filter(isTest)) + linesOf(outside);
  console.info(`${tests} lines of tests to ${code} lines of code: ${(tests / code).toFixed(2)}`);
  expect(code).toBeGreaterThan(4_000);
  expect(tests / code).toBeGreaterThanOrEqual(1.4);
});
