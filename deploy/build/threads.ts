import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

/** How our sources name the module that a thread runs; bundlers in general look for this form. */
const THREAD_URL = /new URL\(\s*'(\.{1,2}\/[\w/-]+\.ts)',\s*import\.meta\.url\s*\)/g;
const THREAD_URL_MODULE = fileURLToPath(new URL('./thread-url.ts', import.meta.url));

/** By convention the modules of threads are called `…-worker.ts`. The name of one is its path in the sources. */
export function threadsOf(sources: string): string[] {
  return globSync('**/*-worker.ts', { cwd: sources }).sort();
}

/**
 * Source of the bundle's first module: `main`, or, when a thread imports the bundle, that thread's module.
 * What is not asked for is not run.
 */
export function entryWithThreads(main: string, sources: string, threads: readonly string[]): string {
  const branches = threads.map(
    (name) =>
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
 * Makes `new Worker(new URL('./x-worker.ts', import.meta.url))` start the thread from the one file of the
 * bundle. Any other use of `import.meta` fails the build: what stands beside a source does not stand beside
 * the bundle.
 */
export function threadsInOneFile(sources: string, threads: readonly string[]): Plugin {
  return {
    name: 'threads-in-one-file',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]packages[\\/][\w-]+[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
        const original = await readFile(path, 'utf8');
        if (!original.includes('import.meta')) return undefined;
        const contents = original.replace(THREAD_URL, (_, module: string) => {
          const name = relative(sources, join(dirname(path), module));
          if (!threads.includes(name)) throw new Error(`${path}: the bundle has no thread ${name}`);
          return `threadUrl(${JSON.stringify(name)})`;
        });
        if (contents.includes('import.meta')) {
          throw new Error(`${path}: what it finds by import.meta is not in a bundle of one file`);
        }
        // On the first line, so that line numbers stay as they are.
        return {
          contents: `import { threadUrl } from ${JSON.stringify(THREAD_URL_MODULE)}; ${contents}`,
          loader: 'ts',
        };
      });
    },
  };
}
