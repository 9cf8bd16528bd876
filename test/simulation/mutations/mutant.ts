import { generateWorld } from '../generate.ts';
import { MemoryStore } from '../memory-store.ts';
import type { Outcome } from '../outcome.ts';
import { simulate } from '../simulation.ts';
import { QUIET } from '../world.ts';
import type { Mutation } from './mutations.ts';

/* This file is bundled with a coordinator that has a defect, see `mutants.ts`. */

/** The first failing world, and the number of worlds that ran until then; null: no world failed. */
export type Finding = { readonly seed: number; readonly worlds: number; readonly kind: string } | null;

/**
 * Runs the defect's story, or random worlds from the defect's
 * seed on until one fails. Returns the oracle's finding.
 */
export async function firstFinding(
  { story, seed: first = 1 }: Pick<Mutation, 'story' | 'seed'>,
  worlds: number,
): Promise<Finding> {
  const last = story === undefined ? first + worlds - 1 : first;
  for (let seed = first; seed <= last; seed += 1) {
    const world = story === undefined ? generateWorld(seed) : { ...QUIET, ...story };
    const outcome: Outcome = await simulate(world, new MemoryStore(), { isTold: false });
    const [violation] = outcome.violations;
    if (violation !== undefined) return { seed, worlds: seed - first + 1, kind: violation.kind };
  }
  return null;
}
