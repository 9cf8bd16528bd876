import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { h1, type NamedContent, sha256Sums } from './checksums.ts';

const file = (name: string, text: string): NamedContent => ({ name, content: Buffer.from(text) });

const PACKAGE = [
  file('terraform-provider-svc_v0.1.0', '#!/bin/sh\n'),
  file('LICENSE', 'MIT\n'),
  file('Zeta', 'Z'),
  file('alpha', 'a'),
];

test('h1 is what Terraform 1.11.4 wrote into the lock file for this package', () => {
  expect(h1(PACKAGE)).toBe('h1:xaiAGt0EbTvWZ2/zdnxge8Q+sf7O406pQ+YVGxnG2io=');
});

test('the order of the files does not matter', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(PACKAGE, { minLength: PACKAGE.length }), (shuffled) => {
      expect(h1(shuffled)).toBe(h1(PACKAGE));
      expect(sha256Sums(shuffled)).toBe(sha256Sums(PACKAGE));
    }),
  );
});

test('a changed name or content changes h1', () => {
  const [first, ...rest] = PACKAGE;
  expect(h1([...rest, { ...first!, name: 'other' }])).not.toBe(h1(PACKAGE));
  expect(h1([...rest, { ...first!, content: Buffer.from('other') }])).not.toBe(h1(PACKAGE));
});

test('sha256sum accepts the sums, and not of a file that was changed', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-sums-'));
  context.onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const { name, content } of PACKAGE) writeFileSync(join(folder, name), content);
  const check = () =>
    execFileSync('sha256sum', ['--check', '--strict'], {
      cwd: folder,
      input: sha256Sums(PACKAGE),
      encoding: 'utf8',
      stdio: 'pipe',
    });
  expect(check().trim().split('\n')).toHaveLength(PACKAGE.length);
  writeFileSync(join(folder, 'alpha'), 'b');
  expect(check).toThrow(/1 computed checksum did NOT match/);
});
