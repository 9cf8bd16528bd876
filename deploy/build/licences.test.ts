import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stop } from 'esbuild';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { bundle } from './bundle.ts';
import { bundledPackages, thirdPartyLicences } from './licences.ts';

// esbuild works in a process of its own.
afterAll(stop);

/** A project that uses `used`, which uses `@scope/deep`; `unused` is installed too. */
async function project(manifests: Record<string, object>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'svc-licences-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, manifest] of Object.entries(manifests)) {
    const folder = join(root, 'node_modules', name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', ...manifest }));
    const next = name === 'used' ? "require('@scope/deep')" : '1';
    await writeFile(join(folder, 'index.js'), `exports.value = ${next};`);
  }
  await writeFile(join(root, 'main.js'), "import { value } from 'used'; console.log(value);");
  return root;
}

async function packagesOf(root: string) {
  const { metafile } = await bundle({
    entryPoints: ['main.js'],
    absWorkingDir: root,
    outfile: 'out.cjs',
    write: false,
  });
  return await bundledPackages([metafile, metafile], root);
}

test('lists what is in the bundle once, and nothing else', async () => {
  const root = await project({
    used: { license: 'MIT' },
    '@scope/deep': { license: 'Apache-2.0' },
    unused: { license: 'MIT' },
  });
  await writeFile(join(root, 'node_modules', 'used', 'LICENSE.md'), 'Permission is hereby granted');
  await writeFile(join(root, 'node_modules', '@scope/deep', 'NOTICE'), 'by somebody');
  const packages = await packagesOf(root);
  expect(packages.map(({ name, license }) => [name, license])).toEqual([
    ['@scope/deep', 'Apache-2.0'],
    ['used', 'MIT'],
  ]);
  const text = thirdPartyLicences(packages);
  expect(text).toContain('used 1.0.0 (MIT)');
  expect(text).toContain('Permission is hereby granted');
  expect(text).toContain('by somebody');
});

test('a package without a licence fails the build', async () => {
  const root = await project({ used: { license: 'MIT' }, '@scope/deep': {} });
  await expect(packagesOf(root)).rejects.toThrow('@scope/deep/package.json states no licence');
});
