import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { stop } from 'esbuild';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { builtinsWhenNeeded, bundle } from './bundle.ts';
import { entryWithThreads, threadsInOneFile, threadsOf } from './threads.ts';

const run = promisify(execFile);

// esbuild works in a process of its own.
afterAll(stop);

const MAIN = `
  import { once } from 'node:events';
  import { Worker } from 'node:worker_threads';
  const worker = new Worker(new URL('./deep/shout-worker.ts', import.meta.url), { workerData: 'hello' });
  const [answer] = await once(worker, 'message');
  console.log(answer satisfies string, process.argv.slice(2).join());`;
const WORKER = `
  import { parentPort, workerData } from 'node:worker_threads';
  import { shouted } from './shouted.ts';
  parentPort!.postMessage(shouted(workerData));`;
const SHOUTED = 'export const shouted = (text: string): string => text.toUpperCase();';
const WORKING = { 'main.ts': MAIN, 'deep/shout-worker.ts': WORKER, 'deep/shouted.ts': SHOUTED };
const LONG = `export const shouted = (text: string): string => text.toUpperCase() + '${'!'.repeat(70_000)}'.slice(0, 1);`;
const FAILING = "throw new Error('it fails — as it must');";

/** Bundles these files as the sources of a package, and returns the path of the one file. */
async function bundled(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'svc threads '));
  onTestFinished(() => rm(root, { recursive: true }));
  const sources = join(root, 'packages', 'example', 'src');
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(sources, name)), { recursive: true });
    await writeFile(join(sources, name), content);
  }
  const threads = await threadsOf(sources);
  const outfile = join(root, 'example.mjs');
  await bundle({
    stdin: { contents: entryWithThreads(join(sources, 'main.ts'), sources, threads), resolveDir: sources },
    outfile,
    format: 'esm',
    plugins: [threadsInOneFile(sources, threads), builtinsWhenNeeded],
    logLevel: 'silent',
  });
  return outfile;
}

test.each([
  ['a small thread', SHOUTED, 'HELLO argument\n'],
  ['a thread with much code', LONG, 'HELLO! argument\n'],
])('%s runs from the one file, wherever that lies', async (_, shouted, said) => {
  const file = await bundled({ ...WORKING, 'deep/shouted.ts': shouted });
  const folder = await mkdtemp(join(tmpdir(), 'svc 100% #moved? '));
  onTestFinished(() => rm(folder, { recursive: true }));
  const moved = join(folder, 'moved.mjs');
  await copyFile(file, moved);
  await rm(join(dirname(file), 'packages'), { recursive: true });
  const { stdout } = await run(process.execPath, [moved, 'argument']);
  expect(stdout).toBe(said);
});

test('the text of a file beside the source is in the one file', async () => {
  const file = await bundled({
    'main.ts': `
      import { readFileSync } from 'node:fs';
      const textFile = (url: URL): string => readFileSync(url, 'utf8');
      console.log(textFile(new URL('./style/base.css', import.meta.url)));`,
    'style/base.css': 'a::before { content: "\\2192 $& `x` {y} → " }',
  });
  await rm(join(dirname(file), 'packages'), { recursive: true });
  const { stdout } = await run(process.execPath, [file]);
  expect(stdout).toBe('a::before { content: "\\2192 $& `x` {y} → " }\n');
});

test('an error in a small thread names the module of the thread, and does not show its code', async () => {
  const file = await bundled({ ...WORKING, 'deep/shout-worker.ts': FAILING });
  const { stderr } = await run(process.execPath, [file]).catch((error: { stderr: string }) => error);
  expect(stderr).toContain('it fails — as it must');
  expect(stderr).toMatch(/at (file:.*)?deep\/shout-worker\.ts:\d+/);
  expect(stderr.length).toBeLessThan(1_000);
});

test('a bundle has no letter that takes its text two bytes', async () => {
  const file = await bundled({ 'main.ts': "console.log('“…”');" });
  const text = await readFile(file, 'latin1');
  expect([...text].every((letter) => letter < '\u0080')).toBe(true);
  expect((await run(process.execPath, [file])).stdout).toBe('“…”\n');
});

test('an address of a thread that the bundle does not have ends with an error', async () => {
  const file = await bundled(WORKING);
  const script = `import(${JSON.stringify(`file://${encodeURI(file)}?thread=other.ts`)})`;
  await expect(run(process.execPath, ['--eval', script])).rejects.toThrow(
    'this bundle has no thread other.ts',
  );
});

test.each([
  ['a thread whose module is not named as one', "new Worker(new URL('./shouting.ts', import.meta.url));"],
  ['a file beside the source', "readFileSync(new URL('./page.html', import.meta.url));"],
  ['the folder of the source', 'console.log(import.meta.dirname);'],
])('%s fails the build', async (_, code) => {
  await expect(bundled({ 'main.ts': code })).rejects.toThrow('main.ts');
});
