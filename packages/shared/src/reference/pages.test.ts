import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { referenceFiles } from './pages.ts';

test.each([...referenceFiles()])(
  'docs/reference/%s is what the definitions say (else: npm run docs)',
  (name, text) => {
    const folder = new URL('../../../../docs/reference/', import.meta.url);
    expect(readFileSync(new URL(name, folder), 'utf8')).toBe(text);
  },
);
