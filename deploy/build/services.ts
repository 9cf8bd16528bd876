import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_FLAGS, COORDINATOR_FLAGS } from '../local/node-flags.ts';
import { type Bundle, builtinsWhenNeeded, bundle, LINE_LIMIT, withoutFurtherLetters } from './bundle.ts';
import { entryWithThreads, threadsInOneFile, threadsOf } from './threads.ts';

const SERVICES = {
  coordinator: { sources: 'packages/coordinator/src', flags: COORDINATOR_FLAGS },
  agent: { sources: 'packages/agent/src', flags: AGENT_FLAGS },
  svc: {
    sources: 'packages/cli/src',
    // Without `--` as the last flag, Node would read some of the command's options as its own (decision
    // 0093).
    flags: ['--use-system-ca', '--'],
  },
};

/** A program that is bundled as one file: a service, or the command line `svc`. */
export type Service = keyof typeof SERVICES;

/**
 * Writes `<service>.mjs`: one file that needs only Node. It can be run by itself, with the measured heap
 * flags, or as `node <flags> <service>.mjs`.
 *
 * @param root the repository
 */
export async function buildService(service: Service, root: string, outDir: string): Promise<Bundle> {
  const { sources: folder, flags } = SERVICES[service];
  const sources = join(root, folder);
  const threads = await threadsOf(sources);
  const outfile = join(outDir, `${service}.mjs`);
  const made = await bundle({
    stdin: {
      contents: entryWithThreads(join(sources, 'main.ts'), sources, threads),
      resolveDir: sources,
      sourcefile: `${service}.mjs`,
    },
    absWorkingDir: root,
    outfile,
    format: 'esm',
    // The process keeps the text in memory, and copies it to read it, so the text is minified. Names stay,
    // for stack traces.
    minifyWhitespace: true,
    lineLimit: LINE_LIMIT,
    banner: { js: `#!/usr/bin/env -S node ${flags.join(' ')}` },
    plugins: [threadsInOneFile(sources, threads), builtinsWhenNeeded],
  });
  await writeFile(outfile, withoutFurtherLetters(await readFile(outfile, 'utf8')));
  await chmod(outfile, 0o755);
  return made;
}
