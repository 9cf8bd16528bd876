import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '@svc/shared/errors.ts';
import type { Metafile } from 'esbuild';

export type BundledPackage = {
  readonly name: string;
  readonly version: string;
  /** SPDX expression from its package.json. */
  readonly license: string;
  /** Its licence files, unchanged. */
  readonly texts: readonly string[];
};

const LICENCE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/**
 * Third-party packages with code in the bundles, by name and version.
 *
 * @param root base of the metafiles' paths
 * @throws when a package states no licence: svc may not distribute it then
 */
export async function bundledPackages(
  metafiles: readonly Metafile[],
  root: string,
): Promise<BundledPackage[]> {
  const folders = new Set(metafiles.flatMap(packageFolders));
  const packages = await Promise.all([...folders].map((folder) => readPackage(join(root, folder))));
  const different = new Map(packages.map((found) => [`${found.name}@${found.version}`, found]));
  return [...different.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found);
}

/** The text that must accompany a bundle. */
export function thirdPartyLicences(packages: readonly BundledPackage[]): string {
  const parts = packages.map(({ name, version, license, texts }) => {
    const title = `${name} ${version} (${license})`;
    const body =
      texts.length > 0 ? texts : [`The package has no licence text; its package.json states ${license}.`];
    return `${title}\n${'-'.repeat(title.length)}\n\n${body.map((text) => text.trim()).join('\n\n')}\n`;
  });
  return `svc contains parts of these packages.\n\n${parts.join('\n\n')}`;
}

function packageFolders({ outputs }: Metafile): string[] {
  return Object.values(outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([path]) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
}

async function readPackage(folder: string): Promise<BundledPackage> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (typeof license !== 'string')
    throw new SvcError('build-failed', `${folder}/package.json states no licence`);
  const files = (await readdir(folder)).filter((file) => LICENCE_FILE.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return { name, version, license, texts };
}
