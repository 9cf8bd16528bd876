import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PROBLEM_CODES } from '@svc/shared/api/problem-codes.ts';
import { ERROR_TABLES } from '@svc/shared/error-codes.ts';
import { expect, test } from 'vitest';
import { problemCodesPage } from '../docs/generate/problem-codes-page.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ERROR_CODES = ERROR_TABLES.flatMap(([, codes]) => Object.keys(codes));

/** Text of the product by file, without the tables of codes and without tests. */
const SOURCES = new Map(
  globSync('{packages/*/src,deploy}/**/*.{ts,mjs}', { cwd: ROOT })
    .filter((path) => !/\.test\.ts$|\/(?:error|problem)-codes\.ts$/.test(path))
    .map((path) => [path, readFileSync(`${ROOT}${path}`, 'utf8')]),
);

test('the page of codes says what the code uses', () => {
  const written = readFileSync(`${ROOT}docs/reference/problem-codes.md`, 'utf8');
  expect(written, 'run `npm run docs`').toBe(problemCodesPage());
});

test('no code stands in two tables', () => {
  const all = [...PROBLEM_CODES, ...ERROR_CODES];
  expect(all.filter((code, index) => all.indexOf(code) !== index)).toEqual([]);
});

test('every code is used', () => {
  const text = [...SOURCES.values()].join('\n');
  expect(ERROR_CODES.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
});

test('errors of ours have a code: a plain Error is raised nowhere', () => {
  // The text of a bundle, which stands alone: it has no class of ours.
  const generated = /contents: `throw new Error\(|"else throw new Error\(/;
  const plain = [...SOURCES].flatMap(([path, text]) =>
    text
      .split('\n')
      .filter((line) => /\bnew Error\(|\bextends Error\b/.test(line) && !generated.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(plain.toSorted()).toEqual([
    // Runs on Node 20, before packages are installed.
    'deploy/local/programs.mjs: export class ProgramMissing extends Error {',
    'packages/shared/src/errors.ts: export class SvcError extends Error {',
  ]);
});
