import { Random } from './random.ts';
import type { Move, World } from './world.ts';

/** The numbers of events that are added to the world of a seed. */
export type Storm = {
  readonly clockSteps: number;
  readonly restarts: number;
  /** Number of long downtimes of the coordinator, up to half of the world each. */
  readonly downtimes: number;
  /** Number of times at which one or several regions are cut off. */
  readonly cutOffs: number;
  /** Number of changes of time-out and retries. */
  readonly efforts: number;
  /** Percentage of the commits that the database does not accept. */
  readonly failures: number;
};

export const NO_STORM: Storm = {
  clockSteps: 0,
  restarts: 0,
  downtimes: 0,
  cutOffs: 0,
  efforts: 0,
  failures: 0,
};

/** Time at the end of a world in which nothing is added, in periods. */
const QUIET_PERIODS = 3;
/** Number that makes the dice of a storm differ from the dice that made the world. */
const SALT = 0x5709;
const LONGEST_CUT_OFF_MS = 1_800_000;
/** Commits for a storm in a world whose commits take no time. */
const FAST = { writeMs: 1, answerMs: 0, stalls: 0, stallMs: 0 };

/**
 * Returns the world with further steps of the system's clock by up to two hours, further restarts, and so on.
 */
export function withStorm(world: World, storm: Storm): World {
  const { clockSteps, restarts, downtimes, cutOffs, efforts, failures } = storm;
  const random = new Random(world.seed ^ SALT);
  const { lengthMs, periodMs, commits } = world;
  const someAt = () => random.between(1, lengthMs - QUIET_PERIODS * periodMs);
  const moves: Move[] = [...world.moves];
  const add = (count: number, some: () => readonly Move[]) => {
    for (let left = count; left > 0; left -= 1) moves.push(...some());
  };
  add(clockSteps, () => {
    const byMs = random.logarithmic(100, 7_200_000) * random.pick([1, -1]);
    return [{ at: someAt(), do: 'set-wall-clock', byMs }];
  });
  const restart = (downMs: number): Move[] => [
    { at: someAt(), do: 'restart', downMs, isBeforeCommit: random.chance(0.5) },
  ];
  add(restarts, () => restart(random.logarithmic(100, 600_000)));
  add(downtimes, () => restart(random.logarithmic(60_000, Math.max(120_000, lengthMs / 2))));
  add(cutOffs, () => someCutOffs(random, world, someAt()));
  add(efforts, () => {
    const timeoutMs = random.pick([1_000, 45_000, 120_000]);
    return [{ at: someAt(), do: 'change-effort', timeoutMs, retry: random.pick([0, 3, 10]) }];
  });
  const sorted = moves.toSorted((a, b) => a.at - b.at);
  if (failures === 0) return { ...world, moves: sorted };
  return { ...world, moves: sorted, commits: { ...(commits ?? FAST), failures: failures / 100 } };
}

/** Makes moves that cut off one region, or several regions at the same time. */
function someCutOffs(random: Random, { lengthMs, regions, agents }: World, at: number): Move[] {
  const all = regions ?? agents;
  if (all.length === 0) return [];
  const isReplaced = random.chance(0.4);
  const longestMs = Math.max(2_000, Math.min(LONGEST_CUT_OFF_MS, lengthMs / 2));
  return random.sample(all, random.chance(0.5) ? 1 : random.between(1, all.length)).map((region) => {
    const forMs = Math.round(random.logarithmic(1_000, longestMs));
    return { at, do: 'cut-off', region, forMs, isReplaced };
  });
}
