import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { DatabaseWorldStore } from './database-store.ts';
import { generateWorld, shortened } from './generate.ts';
import { MemoryStore } from './memory-store.ts';
import type { Outcome } from './outcome.ts';
import { isSameKind, shrink } from './shrink.ts';
import { simulate } from './simulation.ts';
import { addStatistics, addWorld, noStatistics, type Statistics } from './statistics.ts';
import type { WorldStore } from './store.ts';
import { NO_STORM, type Storm, withStorm } from './storms.ts';
import { tell } from './story.ts';
import type { World } from './world.ts';

/** One in this number of worlds runs over SQLite. The others run in memory. */
const SQLITE_EVERY = 100;
/** A world over SQLite has a third of its length, because it costs thirty times as much. */
const SQLITE_SHARE = 3;
/** Minimum number of worlds for which a process is started. */
const WORLDS_PER_PROCESS = 400;

/**
 * Flags of V8. A world lives for a short time, so with a large young generation
 * little of it moves to the old generation. Helper threads of the collector would
 * take a tenth more CPU time, and there is a process for each processor already.
 */
const COLLECTING = ['--max-semi-space-size=32', '--single-threaded-gc'];

/** A range of consecutive seeds. */
export type Range = { readonly seed: number; readonly worlds: number; readonly storm?: Storm };

/** Runs worlds in this process. `onWorld` is called with the seed of each, before it runs. */
export async function runWorlds(
  { seed, worlds, storm = NO_STORM }: Range,
  onWorld: (seed: number) => void = () => {},
): Promise<Statistics> {
  const sum = noStatistics();
  const sqlite = worlds >= SQLITE_EVERY ? await DatabaseWorldStore.open() : null;
  try {
    for (let next = seed; next < seed + worlds; next += 1) {
      onWorld(next);
      const isInSqlite = sqlite !== null && next % SQLITE_EVERY === 0;
      if (isInSqlite) await sqlite.clear();
      const store: WorldStore = isInSqlite ? sqlite : new MemoryStore();
      const world = withStorm(generateWorld(next), storm);
      const made = isInSqlite ? shortened(world, SQLITE_SHARE) : world;
      addWorld(sum, next, await simulate(made, store, { isTold: false }));
    }
  } finally {
    await sqlite?.close();
  }
  return sum;
}

/** Runs worlds in processes of their own, at most as many as there are processors. */
export async function runInProcesses({ seed, worlds, storm = NO_STORM }: Range): Promise<Statistics> {
  const processes = Math.min(availableParallelism(), Math.floor(worlds / WORLDS_PER_PROCESS));
  if (processes < 1) return runWorlds({ seed, worlds, storm });
  const share = Math.ceil(worlds / processes);
  const ranges = Array.from({ length: processes }, (_, index) => ({
    seed: seed + index * share,
    worlds: Math.min(share, worlds - index * share),
    storm,
  }));
  const sum = noStatistics();
  for (const part of await Promise.all(ranges.map(runInProcess))) addStatistics(sum, part);
  return sum;
}

async function runInProcess(range: Range): Promise<Statistics> {
  const { seed, worlds } = range;
  const worker = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const child = fork(worker, [JSON.stringify(range)], { execArgv: COLLECTING });
  const answered = once(child, 'message');
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the worlds ${seed} to ${seed + worlds - 1} ended with code ${code}`);
  const [statistics] = await answered;
  return statistics as Statistics;
}

/**
 * Returns the story of a failing world, made as short as possible; null: the world does not fail in memory,
 * in its whole length.
 */
export async function storyOf(seed: number, storm = NO_STORM): Promise<string | null> {
  const run = (world: World): Promise<Outcome> => simulate(world, new MemoryStore(), { isTold: true });
  const world = withStorm(generateWorld(seed), storm);
  const kind = (await run(world)).violations[0]?.kind;
  if (kind === undefined) return null;
  const shortest = await shrink(world, async (smaller) => isSameKind(kind, (await run(smaller)).violations));
  return tell(shortest, await run(shortest));
}
