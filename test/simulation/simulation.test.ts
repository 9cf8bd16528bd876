import { expect, test } from 'vitest';
import { runInProcesses, storyOf } from './run-worlds.ts';
import { describeStatistics, failingSeeds } from './statistics.ts';

/** Number of worlds. `npm test` runs 2,000; the quick check sets a smaller number. */
const WORLDS = Number(process.env.SIMULATED_WORLDS ?? 2_000);
/** Number of worlds of one test. More would take longer on a slow machine than a test may take. */
const AT_ONCE = 1_000;

const LOTS = Array.from({ length: Math.ceil(WORLDS / AT_ONCE) }, (_, index) => ({
  seed: 1 + index * AT_ONCE,
  worlds: Math.min(AT_ONCE, WORLDS - index * AT_ONCE),
}));

test.each(LOTS)(
  'the service says in every world what the oracle says ($worlds from seed $seed)',
  async ({ seed, worlds }) => {
    const started = performance.now();
    const sum = await runInProcesses({ seed, worlds });
    console.log(describeStatistics(sum, performance.now() - started));
    const [first] = failingSeeds(sum);
    expect(first === undefined ? null : await storyOf(first)).toBeNull();
    expect(failingSeeds(sum)).toEqual([]);
    expect(sum.confirmed).toBeGreaterThan(worlds / 20);
  },
);
