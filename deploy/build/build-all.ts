import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_EXECUTABLE, buildAgentExecutable } from './agent-executable.ts';
import { bundledPackages, thirdPartyLicences } from './licences.ts';
import { bundleProvider, type ProviderBundle, providerPackage } from './provider.ts';
import { writeRegistryDocs } from './registry-docs.ts';
import { PLATFORMS, packageFor, writeMirror, writeRelease, writeStandaloneRelease } from './release.ts';
import { buildService } from './services.ts';
import { STANDALONE_PLATFORM, standalonePackage } from './standalone.ts';
import type { ZipEntry } from './zip.ts';

export type BuildOptions = {
  /** The repository. */
  readonly root: string;
  readonly outDir: string;
  readonly withStandalone: boolean;
  /** Prints one line for people. */
  readonly report: (line: string) => void;
};

/**
 * Folders whose files are named by version. They are removed first, so that no file of an earlier version
 * stays.
 */
const FOLDERS = [
  'terraform-provider',
  'terraform-mirror',
  'terraform-mirror-standalone',
  'release',
  'release-standalone',
];

/**
 * Builds everything into `outDir`: the services, the command line, the agent as an executable, and the
 * Terraform provider as folder, mirror and release. Executables with Node are left out without
 * `withStandalone`, and where they cannot be made.
 */
export async function buildAll(options: BuildOptions): Promise<void> {
  const { root, outDir, report } = options;
  await Promise.all(FOLDERS.map((name) => rm(join(outDir, name), { recursive: true, force: true })));
  await mkdir(outDir, { recursive: true });

  const [coordinator, agent, commandLine, provider] = await Promise.all([
    buildService('coordinator', root, outDir),
    buildService('agent', root, outDir),
    buildService('svc', root, outDir),
    bundleProvider(root),
  ]);
  const metafiles = [coordinator, agent, commandLine, provider].map(({ metafile }) => metafile);
  const packages = await bundledPackages(metafiles, root);
  await writeFile(join(outDir, 'THIRD-PARTY-LICENSES.txt'), thirdPartyLicences(packages));
  report('coordinator.mjs, agent.mjs, svc.mjs');
  report(`THIRD-PARTY-LICENSES.txt of ${packages.length} packages`);
  await packageAgent(options);

  await packageProvider(options, provider);
}

async function packageAgent({ root, outDir, withStandalone, report }: BuildOptions): Promise<void> {
  // An executable of an earlier build would not match the other files.
  await rm(join(outDir, AGENT_EXECUTABLE), { force: true });
  const reason = withStandalone ? await buildAgentExecutable(root, outDir) : 'it was not requested';
  report(
    reason === null
      ? `${AGENT_EXECUTABLE}, the agent with Node, for ${STANDALONE_PLATFORM}`
      : `no ${AGENT_EXECUTABLE}: ${reason}`,
  );
}

async function packageProvider(options: BuildOptions, provider: ProviderBundle): Promise<void> {
  const { root, outDir, report } = options;
  const version = await providerVersion(root);
  // On this machine the provider runs with the Node that builds it, whatever PATH contains.
  const own = await providerPackage(provider, root, version, process.execPath);
  await writeFolder(join(outDir, 'terraform-provider'), own);
  report(`terraform-provider/ for dev_overrides; provider.cjs has ${kib(provider.script.length)}`);
  const mirrored = await packageFor(PLATFORMS, own, version);
  await writeMirror(join(outDir, 'terraform-mirror'), mirrored);
  report(`terraform-mirror/ for filesystem_mirror; ${mirrored.h1}`);
  const released = await packageFor(PLATFORMS, await providerPackage(provider, root, version, null), version);
  await writeRelease(join(outDir, 'release'), released, version);
  await writeRegistryDocs(join(outDir, 'release', 'docs'), root);
  report(
    `release/ for ${PLATFORMS.join(', ')}, with docs/ for a registry; ${released.h1}; its checksums are not signed`,
  );
  await packageStandalone(options, provider, version);
}

async function packageStandalone(
  { root, outDir, withStandalone, report }: BuildOptions,
  provider: ProviderBundle,
  version: string,
): Promise<void> {
  const made = withStandalone
    ? await standalonePackage(provider, root, version)
    : { skipped: 'it was not requested' };
  if ('skipped' in made) {
    report(`no standalone provider: ${made.skipped}`);
    return;
  }
  const packaged = await packageFor([STANDALONE_PLATFORM], made.files, version);
  await writeMirror(join(outDir, 'terraform-mirror-standalone'), packaged);
  await writeStandaloneRelease(join(outDir, 'release-standalone'), packaged);
  report(`terraform-mirror-standalone/, release-standalone/ for ${STANDALONE_PLATFORM}; ${packaged.h1}`);
}

async function providerVersion(root: string): Promise<string> {
  const manifest = await readFile(join(root, 'packages/terraform-provider/package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

async function writeFolder(folder: string, files: readonly ZipEntry[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { name, content, isExecutable = false } of files) {
    await writeFile(join(folder, name), content, { mode: isExecutable ? 0o755 : 0o644 });
  }
}

function kib(bytes: number): string {
  return `${Math.round(bytes / 1024)} KiB`;
}
