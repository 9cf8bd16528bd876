import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { settingsPage } from '../docs/generate/settings-page.ts';

test('the page of settings says what the processes read', () => {
  const written = readFileSync(new URL('../docs/reference/settings.md', import.meta.url), 'utf8');
  expect(written, 'run `npm run docs`').toBe(settingsPage());
});
