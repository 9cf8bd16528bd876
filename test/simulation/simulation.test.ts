import { expect, test } from 'vitest';
import { runInProcesses, storyOf } from './run-worlds.ts';
import { describeStatistics, failingSeeds } from './statistics.ts';

/** Number of worlds. `npm test` runs 5,000; the quick check sets a smaller number. */
const WORLDS = Number(process.env.SIMULATED_WORLDS ?? 5_000);

test('the service says in every world what the oracle says', async () => {
  const started = performance.now();
  const sum = await runInProcesses({ seed: 1, worlds: WORLDS });
  console.log(describeStatistics(sum, performance.now() - started));
  const [first] = failingSeeds(sum);
  expect(first === undefined ? null : await storyOf(first)).toBeNull();
  expect(failingSeeds(sum)).toEqual([]);
  expect(sum.confirmed).toBeGreaterThan(WORLDS / 20);
});
