import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Outcome } from '../simulation.ts';
import { MUTATIONS, sourceOf } from './mutations.ts';

/*
 * Entry of a process whose coordinator has a defect. It runs the defect's story, or random worlds until one
 * fails, and sends the oracle's finding.
 *
 *     mutant.ts <number of the mutation> <first seed> <worlds>
 */

/** What the process sends: the first failing world, or null. */
export type Finding = { readonly seed: number; readonly worlds: number; readonly kind: string } | null;

const [number, first, worlds] = process.argv.slice(2).map(Number) as [number, number, number];
const mutation = MUTATIONS[number];
if (mutation === undefined) throw new RangeError(`there is no mutation ${number}`);
const { from, to, story } = mutation;
const mutated = sourceOf(mutation).href;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url !== mutated) return loaded;
    return { ...loaded, source: readFileSync(fileURLToPath(url), 'utf8').replace(from, () => to) };
  },
});

const { QUIET } = await import('../world.ts');
const { generateWorld } = await import('../generate.ts');
const { MemoryStore } = await import('../memory-store.ts');
const { simulate } = await import('../simulation.ts');

const finding = await firstFinding();
process.send?.(finding, () => process.disconnect?.());

async function firstFinding(): Promise<Finding> {
  const last = story === undefined ? first + worlds - 1 : first;
  for (let seed = first; seed <= last; seed += 1) {
    const world = story === undefined ? generateWorld(seed) : { ...QUIET, ...story };
    const outcome: Outcome = await simulate(world, new MemoryStore(), { isTold: false });
    const [violation] = outcome.violations;
    if (violation !== undefined) return { seed, worlds: seed - first + 1, kind: violation.kind };
  }
  return null;
}
