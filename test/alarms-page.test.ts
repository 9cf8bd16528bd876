import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

test('docs/operations.md tells what to do about each alert rule, under the anchor that the rule links to', () => {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const told = [...page.matchAll(/<a id="(alarm-[a-z-]+)"><\/a>\n\n### (\w+)\n\n\S/g)];
  expect(told.length).toBeGreaterThan(20);
  for (const [, anchor, name = ''] of told) {
    expect(anchor).toBe(`alarm${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
  }
  const files = globSync('deploy/monitoring/prometheus/*.rules.yaml', { cwd: ROOT });
  for (const file of files) {
    const rules = readFileSync(join(ROOT, file), 'utf8').matchAll(/^\s*-? *alert: *"?(\w+)/gm);
    expect([...rules].map(([, name]) => name).sort()).toEqual(told.map(([, , name]) => name).sort());
  }
});
