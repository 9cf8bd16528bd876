import { createWriteStream } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SvcError } from '@svc/shared/errors.ts';
import { AGENT_FLAGS } from '../local/node-flags.ts';
import { builtinsWhenNeeded, bundle, LINE_LIMIT } from './bundle.ts';
import { standaloneExecutable } from './standalone.ts';
import { threadsInOneFile } from './threads.ts';

export const AGENT_EXECUTABLE = 'svc-agent';

const PIECE = 64 * 1_024;

/**
 * Writes `svc-agent`, the agent and Node as one executable for
 * machines without Node, and the licence of that Node beside it.
 *
 * @param root the repository
 * @returns null, or the reason why it cannot be made here
 */
export async function buildAgentExecutable(root: string, outDir: string): Promise<string | null> {
  const script = await agentScript(root);
  const made = await standaloneExecutable({ script, name: 'agent.cjs', flags: AGENT_FLAGS }, root);
  if ('skipped' in made) return made.skipped;
  const file = join(outDir, AGENT_EXECUTABLE);
  await writeInPieces(file, made.content);
  await chmod(file, 0o755);
  await writeFile(join(outDir, 'LICENSE-Node.js.txt'), made.licenceOfNode);
  return null;
}

/**
 * Writes a file in pieces of 64 KiB. Linux keeps data that is written at once as large pieces of its page
 * cache, and maps a whole piece into a process that touches a part of it. An executable that runs from such
 * pieces has 13 MiB more resident memory than after a copy or a restart of the machine.
 */
async function writeInPieces(file: string, content: Buffer): Promise<void> {
  const pieces = Array.from({ length: Math.ceil(content.length / PIECE) }, (_, index) =>
    content.subarray(index * PIECE, (index + 1) * PIECE),
  );
  await pipeline(Readable.from(pieces), createWriteStream(file));
}

/** The agent as one CommonJS file: an executable of Node 24 cannot contain an ES module. */
async function agentScript(root: string): Promise<Buffer> {
  const sources = join(root, 'packages/agent/src');
  const { outputFiles = [] } = await bundle({
    stdin: {
      // main.ts is left out: the executable has its own Node, whose version need not be checked.
      contents: "import { runAgent } from './process.ts'; void runAgent(process.argv.slice(2));",
      resolveDir: sources,
      sourcefile: 'agent.cjs',
    },
    absWorkingDir: root,
    outfile: 'agent.cjs',
    write: false,
    format: 'cjs',
    minifyWhitespace: true,
    lineLimit: LINE_LIMIT,
    plugins: [threadsInOneFile(sources, []), builtinsWhenNeeded],
  });
  const [script] = outputFiles;
  if (script === undefined) throw new SvcError('build-failed', 'esbuild wrote no bundle of the agent');
  return Buffer.from(script.contents);
}
