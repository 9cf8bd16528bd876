import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { terraformPages } from '../docs/generate/terraform-pages.ts';

const FOLDER = new URL('../docs/terraform/', import.meta.url);

test('docs/terraform has the pages of all resources and data sources, and no others', () => {
  expect(globSync('**/*.md', { cwd: FOLDER }).sort()).toEqual([...terraformPages().keys()].sort());
});

test.each([...terraformPages()])(
  'docs/terraform/%s is what the schemas say (else: npm run docs)',
  (path, text) => {
    expect(readFileSync(new URL(path, FOLDER), 'utf8')).toBe(text);
  },
);
