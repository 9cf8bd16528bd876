import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { context, type Plugin } from 'esbuild';
import type { Finding, firstFinding } from './mutant.ts';
import { MUTATIONS, type Mutation, mutated, sourceOf } from './mutations.ts';

/*
 * Entry of a process for coordinators that have a defect, one after the other. Each is a bundle of the sources, which
 * begins with nothing of the one before. A process for each would load all the sources anew, which takes longer than
 * the worlds that find a defect.
 *
 *     mutants.ts <first seed> <worlds>
 */

/** What the process is asked: the number of a mutation. */
export type Asked = number;
/** What it answers; null: the oracle finds nothing. */
export type Answered = { readonly number: number; readonly finding: Finding };

const [first, worlds] = process.argv.slice(2).map(Number) as [number, number];
const folder = await mkdtemp(join(tmpdir(), 'svc-mutants-'));
const sources = new Set(MUTATIONS.map((mutation) => fileURLToPath(sourceOf(mutation))));
let present: Mutation | null = null;

/** The sources with the present defect. Packages that are not ours are loaded once, as they are. */
const defects: Plugin = {
  name: 'mutated',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || path.startsWith('@svc/')
        ? undefined
        : { path: import.meta.resolve(path), external: true },
    );
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!sources.has(path)) return undefined;
      const text = await readFile(path, 'utf8');
      const isHere = present !== null && fileURLToPath(sourceOf(present)) === path;
      return { contents: isHere && present !== null ? mutated(text, present) : text, loader: 'ts' };
    });
  },
};

const bundles = await context({
  entryPoints: [fileURLToPath(new URL('./mutant.ts', import.meta.url))],
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  write: false,
  logLevel: 'silent',
  plugins: [defects],
});

process.on('message', (number: Asked) => void answer(number));
process.once('disconnect', () => void bundles.dispose());

async function answer(number: Asked): Promise<void> {
  process.send?.({ number, finding: await findingOf(number) } satisfies Answered);
}

async function findingOf(number: number): Promise<Finding> {
  const mutation = MUTATIONS[number];
  if (mutation === undefined) throw new RangeError(`there is no mutation ${number}`);
  present = mutation;
  const { outputFiles } = await bundles.rebuild();
  const file = join(folder, `${number}.mjs`);
  await writeFile(file, outputFiles?.[0]?.contents ?? '');
  const mutant = (await import(pathToFileURL(file).href)) as { firstFinding: typeof firstFinding };
  return await mutant.firstFinding(mutation, first, worlds);
}
