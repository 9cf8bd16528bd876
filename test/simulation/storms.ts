import { Random } from './random.ts';
import type { Move, World } from './world.ts';

/** What a world gets beside what its seed gives it. */
export type Storm = { readonly clockSteps: number; readonly restarts: number };

export const NO_STORM: Storm = { clockSteps: 0, restarts: 0 };

/** Time at the end of a world in which nothing is added, in periods. */
const QUIET_PERIODS = 3;
/** Keeps its dice apart from those that made the world. */
const SALT = 0x5709;

/** The same world with more steps of the system's clock, by up to two hours, and more restarts. */
export function withStorm(world: World, { clockSteps, restarts }: Storm): World {
  const random = new Random(world.seed ^ SALT);
  const latest = world.lengthMs - QUIET_PERIODS * world.periodMs;
  const moves: Move[] = [...world.moves];
  for (let count = clockSteps; count > 0; count -= 1) {
    const byMs = random.logarithmic(100, 7_200_000) * random.pick([1, -1]);
    moves.push({ at: random.between(1, latest), do: 'set-wall-clock', byMs });
  }
  for (let count = restarts; count > 0; count -= 1) {
    const downMs = random.logarithmic(100, 600_000);
    moves.push({ at: random.between(1, latest), do: 'restart', downMs, isBeforeCommit: random.chance(0.5) });
  }
  return { ...world, moves: moves.toSorted((a, b) => a.at - b.at) };
}
