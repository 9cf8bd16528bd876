import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { VERSION } from './version.ts';

test('every package has the version of svc', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const manifests = ['package.json', ...globSync('packages/*/package.json', { cwd: root })];
  expect(manifests.length).toBeGreaterThan(4);
  for (const manifest of manifests) {
    expect(JSON.parse(readFileSync(`${root}${manifest}`, 'utf8')), manifest).toMatchObject({
      version: VERSION,
    });
  }
});
