import type { ViolationKind } from './oracle/oracle.ts';
import { type Commits, type Mishaps, QUIET, type World } from './world.ts';

/** Whether the world still fails in the same way. */
export type Fails = (world: World) => Promise<boolean>;

/** Maximum number of tries. A story need not be the shortest possible one. */
const MOST_TRIES = 400;

/**
 * Finds a smaller world that still fails: removes one part after the other,
 * until no further part can be removed. A region's behaviour in a slot does
 * not depend on the rest of the world, so the remaining story stays the same.
 */
export async function shrink(world: World, fails: Fails): Promise<World> {
  let smallest = world;
  let tries = 0;
  for (let isSmaller = true; isSmaller && tries < MOST_TRIES; ) {
    isSmaller = false;
    for (const smaller of smallerWorlds(smallest)) {
      tries += 1;
      if (tries > MOST_TRIES) break;
      if (!(await fails(smaller))) continue;
      smallest = smaller;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** Whether the first violation is of this kind. It need not be the same violation. */
export function isSameKind(kind: ViolationKind, violations: readonly { kind: ViolationKind }[]): boolean {
  return violations[0]?.kind === kind;
}

/** Yields worlds with one part less, the largest parts first. */
function* smallerWorlds(world: World): Generator<World> {
  const { moves, troubles, limits, mishaps, regions, agents, laggards, channels } = world;
  const half = moves.length / 2;
  if (moves.length > 2) {
    yield { ...world, moves: moves.slice(0, half) };
    yield { ...world, moves: moves.slice(half) };
  }
  for (const region of regions ?? agents) yield withoutRegion(world, region);
  for (const index of moves.keys()) yield { ...world, moves: moves.toSpliced(index, 1) };
  for (const index of troubles.keys()) yield { ...world, troubles: troubles.toSpliced(index, 1) };
  for (const index of limits.keys()) yield { ...world, limits: limits.toSpliced(index, 1) };
  for (const name of Object.keys(mishaps) as (keyof Mishaps)[]) {
    if (mishaps[name] !== 0 && name !== 'lagMs') yield { ...world, mishaps: { ...mishaps, [name]: 0 } };
  }
  if (laggards.length > 0) yield { ...world, laggards: [] };
  for (const index of channels.keys()) yield { ...world, channels: channels.toSpliced(index, 1) };
  for (const [index, trouble] of troubles.entries()) {
    if (trouble.flapMs > 0) yield { ...world, troubles: troubles.with(index, { ...trouble, flapMs: 0 }) };
  }
  if (world.commits !== null) yield* withFasterCommits(world, world.commits);
  if (world.isPair) yield { ...world, isPair: false };
  if (world.isDeclaredMeanwhile) yield { ...world, isDeclaredMeanwhile: false };
  if (world.judging !== QUIET.judging) yield { ...world, judging: QUIET.judging };
  if (world.retry > 0) yield { ...world, retry: 0 };
}

function* withFasterCommits(world: World, commits: Commits): Generator<World> {
  yield { ...world, commits: null };
  if (commits.stalls > 0) yield { ...world, commits: { ...commits, stalls: 0 } };
  if (commits.answerMs > 0) yield { ...world, commits: { ...commits, answerMs: 0 } };
}

function withoutRegion(world: World, region: World['agents'][number]): World {
  const isOther = (each: World['agents'][number]) => each !== region;
  return {
    ...world,
    regions: world.regions?.filter(isOther) ?? null,
    agents: world.agents.filter(isOther),
    laggards: world.laggards.filter(isOther),
    troubles: world.troubles.map((trouble) => ({
      ...trouble,
      regions: trouble.regions?.filter(isOther) ?? null,
    })),
    limits: world.limits.map((limit) => ({ ...limit, regions: limit.regions?.filter(isOther) ?? null })),
    moves: world.moves.filter((move) => !('region' in move) || move.region !== region),
  };
}
