import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { context, type Plugin } from 'esbuild';
import type { Finding, firstFinding } from './mutant.ts';
import { MUTATIONS, type Mutation, mutated, sourceOf } from './mutations.ts';

/*
 * The entry of a process that runs coordinators with a defect, one after the other. Each of
 * them is a bundle of all sources, so it shares no state with the one before. If each had a
 * process of its own, loading the sources would take longer than the worlds that find a defect.
 *
 *     mutants.ts <worlds>
 */

/** A message to the process: the number of a mutation. */
export type Asked = number;
/** The answer of the process. `finding` null: the oracle finds nothing. */
export type Answered = { readonly number: number; readonly finding: Finding };

const worlds = Number(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), 'svc-mutants-'));
const sources = new Set(MUTATIONS.map((mutation) => fileURLToPath(sourceOf(mutation))));
let present: Mutation | null = null;

/** Loads the sources with the present defect. Packages of others are not bundled. */
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
  return await mutant.firstFinding(mutation, worlds);
}
