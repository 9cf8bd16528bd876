import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stop } from 'esbuild';
import { bundleProvider, providerPackage } from '../../../deploy/build/provider.ts';
import { madeOnce } from '../made-once.ts';
import type { PluginCommand } from './plugin-process.ts';

export const SOURCE = 'registry.terraform.io/svc/svc';
export const VERSION = '0.1.0';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** The provider as users get it, laid out as an unpacked filesystem mirror under a temporary folder. */
export type BuiltProvider = {
  /** For `filesystem_mirror`. */
  readonly mirror: string;
  /** For `dev_overrides`. */
  readonly folder: string;
  readonly command: PluginCommand;
};

/**
 * Folder in which the providers of a run keep Node's compile cache.
 * Terraform starts a provider several times for each command.
 */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'compiled') };

/** The provider for all tests of a run. */
export async function sharedProvider(): Promise<BuiltProvider> {
  return builtIn((await madeOnce('svc-mirror', (mirror) => build(mirror))).folder);
}

async function build(mirror: string): Promise<void> {
  const { folder } = builtIn(mirror);
  await mkdir(folder, { recursive: true });
  const files = await providerPackage(await bundleProvider(ROOT), ROOT, VERSION, null);
  // esbuild works in a process of its own.
  await stop();
  for (const { name, content, isExecutable } of files) {
    await writeFile(join(folder, name), content);
    if (isExecutable === true) await chmod(join(folder, name), 0o755);
  }
}

function builtIn(mirror: string): BuiltProvider {
  const folder = join(mirror, SOURCE, VERSION, platform());
  return { mirror, folder, command: { file: process.execPath, args: [join(folder, 'provider.cjs')] } };
}

function platform(): string {
  const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch;
  return `${process.platform}_${architecture}`;
}
