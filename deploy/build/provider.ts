import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '@svc/shared/errors.ts';
import type { Metafile, Plugin } from 'esbuild';
import { bundle, LINE_LIMIT } from './bundle.ts';
import { bundledPackages, thirdPartyLicences } from './licences.ts';
import type { ZipEntry } from './zip.ts';

const LAUNCHER = join(import.meta.dirname, 'launcher.sh');

/** grpc-js loads this package, with its parser of .proto files, for channelz and ORCA only. */
const withoutProtoLoader: Plugin = {
  name: 'without-proto-loader',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@grpc\/proto-loader$/ }, ({ path }) => ({ path, namespace: 'left-out' }));
    onLoad({ filter: /./, namespace: 'left-out' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`${path} is not part of this bundle`)});`,
      loader: 'js',
    }));
  },
};

export type ProviderBundle = {
  /** One CommonJS file. Node runs it from any folder, whatever a package.json above it says. */
  readonly script: Buffer;
  /** Licences of its contents. */
  readonly licences: Buffer;
  readonly metafile: Metafile;
};

const MAIN = 'packages/terraform-provider/src/main.ts';

/** @param root the repository */
export async function bundleProvider(root: string): Promise<ProviderBundle> {
  const { metafile, outputFiles = [] } = await bundle({
    entryPoints: [join(root, MAIN)],
    absWorkingDir: root,
    outfile: 'provider.cjs',
    write: false,
    format: 'cjs',
    // Terraform starts the plug-in three or four times for one command.
    minifyWhitespace: true,
    minifySyntax: true,
    // Uses the ES modules of packages that have both forms, so that unused code is left out.
    mainFields: ['module', 'main'],
    lineLimit: LINE_LIMIT,
    plugins: [withoutProtoLoader],
  });
  const [script] = outputFiles;
  if (script === undefined)
    throw new SvcError('build-failed', 'esbuild wrote no bundle of the Terraform provider');
  const licences = thirdPartyLicences(await bundledPackages([metafile], root));
  return { script: Buffer.from(script.contents), licences: Buffer.from(licences), metafile };
}

/**
 * The files that Terraform unpacks, the same for all platforms. Terraform runs the first file named
 * `terraform-provider-svc…`.
 *
 * @param node path of a Node that is preferred to the one on PATH, if it exists; null names none
 */
export async function providerPackage(
  bundled: ProviderBundle,
  root: string,
  version: string,
  node: string | null,
): Promise<ZipEntry[]> {
  return [
    { name: executableName(version), content: await launcher(node), isExecutable: true },
    { name: 'provider.cjs', content: bundled.script },
    { name: 'LICENSE', content: await readFile(join(root, 'LICENSE')) },
    { name: 'THIRD-PARTY-LICENSES.txt', content: bundled.licences },
  ];
}

export async function launcher(node: string | null): Promise<Buffer> {
  const script = await readFile(LAUNCHER, 'utf8');
  if (node === null) return Buffer.from(script);
  const quoted = `'${node.replaceAll("'", `'\\''`)}'`;
  return Buffer.from(script.replace(/^built_with=$/m, () => `built_with=${quoted}`));
}

export function executableName(version: string): string {
  return `terraform-provider-svc_v${version}`;
}
