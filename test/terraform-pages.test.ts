import { globSync, readFileSync } from 'node:fs';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
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

test('the example of every kind of channel has every kind', () => {
  const page = terraformPages().get('resources/notification.md') ?? '';
  const shown = [...page.matchAll(/provider_type = "(\w+)"/g)].map(([, kind]) => kind);
  expect(CHANNEL_KINDS.filter((kind) => !shown.includes(kind))).toEqual([]);
});
