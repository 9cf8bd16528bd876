import { globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SvcError } from '@svc/shared/errors.ts';
import type { Plugin } from 'esbuild';
import { builtinsWhenNeeded, bundle } from './bundle.ts';

/** How the sources name the module that a thread runs; bundlers in general look for this form. */
const THREAD_URL = /new URL\(\s*'(\.{1,2}\/[\w/-]+\.ts)',\s*import\.meta\.url\s*\)/g;
/** How the sources name a file of text beside them, see `textFile` of the coordinator. */
const TEXT_FILE = /textFile\(\s*new URL\(\s*'(\.{1,2}\/[\w./-]+)',\s*import\.meta\.url,?\s*\),?\s*\)/g;
const THREAD_URL_MODULE = fileURLToPath(new URL('./thread-url.ts', import.meta.url));

/**
 * A thread with less code than this, bytes, is stored in the bundle as text. It then need not load the
 * bundle, which takes 12 MiB for each thread.
 */
const SMALL_CODE = 65_536;

/** `code`: the whole code of a small thread; null: the thread imports the bundle. */
export type Thread = { readonly name: string; readonly code: string | null };

/**
 * The threads of the sources. By convention their modules are called `…-worker.ts`; a thread's name is the
 * path of its module in the sources.
 */
export function threadsOf(sources: string): Promise<Thread[]> {
  const names = globSync('**/*-worker.ts', { cwd: sources }).sort();
  return Promise.all(names.map(async (name) => ({ name, code: await smallCode(sources, name) })));
}

async function smallCode(sources: string, name: string): Promise<string | null> {
  const { outputFiles = [] } = await bundle({
    entryPoints: [join(sources, name)],
    format: 'esm',
    write: false,
    plugins: [builtinsWhenNeeded],
  });
  const [output] = outputFiles;
  if (output === undefined || output.contents.byteLength >= SMALL_CODE) return null;
  // The name is for stack traces: the address of the text is the text itself.
  return `${output.text}//# sourceURL=${name}\n`;
}

/**
 * Source of the bundle's first module: it imports `main`, or the module of the thread that imports the
 * bundle. The modules of the other threads do not run.
 */
export function entryWithThreads(main: string, sources: string, threads: readonly Thread[]): string {
  const branches = threads
    .filter(({ code }) => code === null)
    .map(
      ({ name }) =>
        `else if (thread === ${JSON.stringify(name)}) await import(${JSON.stringify(join(sources, name))});`,
    );
  return [
    "const thread = new URL(import.meta.url).searchParams.get('thread');",
    `if (thread === null) await import(${JSON.stringify(main)});`,
    ...branches,
    "else throw new Error('svc: this bundle has no thread ' + thread);",
  ].join('\n');
}

/**
 * Makes `new Worker(new URL('./x-worker.ts', import.meta.url))` start the thread from the one file
 * of the bundle, and puts the texts of `textFile(new URL('./x.css', import.meta.url))` into it.
 * Any other use of `import.meta` fails the build: files beside a source are not beside the bundle.
 */
export function threadsInOneFile(sources: string, threads: readonly Thread[]): Plugin {
  return {
    name: 'threads-in-one-file',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]packages[\\/][\w-]+[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
        const original = await readFile(path, 'utf8');
        if (!original.includes('import.meta')) return undefined;
        const withTexts = original.replace(TEXT_FILE, (_, file: string) =>
          JSON.stringify(readFileSync(join(dirname(path), file), 'utf8')),
        );
        const contents = withTexts.replace(THREAD_URL, (_, module: string) => {
          const name = relative(sources, join(dirname(path), module));
          const thread = threads.find((one) => one.name === name);
          if (thread === undefined)
            throw new SvcError('build-failed', `${path}: the bundle has no thread ${name}`);
          return thread.code === null
            ? `bundleUrl(${JSON.stringify(name)})`
            : `codeUrl(${JSON.stringify(thread.code)})`;
        });
        if (contents.includes('import.meta')) {
          throw new SvcError(
            'build-failed',
            `${path}: a bundle of one file does not contain the files found by import.meta`,
          );
        }
        // On the first line, so that line numbers stay the same.
        return {
          contents: `import { bundleUrl, codeUrl } from ${JSON.stringify(THREAD_URL_MODULE)}; ${contents}`,
          loader: 'ts',
        };
      });
    },
  };
}
