import { expect, test } from 'vitest';
import { runInProcesses, storyOf } from './run-worlds.ts';
import { describeStatistics, failingSeeds } from './statistics.ts';

const QUICK = process.env.SIMULATED_WORLDS;
/** Worlds of `npm test`; the quick check sets fewer. */
const WORLDS = Number(QUICK ?? 10_000);
/** In the quick check other tests keep the processors busy, and each further process takes a second of CPU to warm up. */
const PROCESSES = QUICK === undefined ? undefined : 1;

test('the service says in every world what the oracle says', async () => {
  const started = performance.now();
  const sum = await runInProcesses({ seed: 1, worlds: WORLDS }, PROCESSES);
  console.log(describeStatistics(sum, performance.now() - started));
  const [first] = failingSeeds(sum);
  expect(first === undefined ? null : await storyOf(first)).toBeNull();
  expect(failingSeeds(sum)).toEqual([]);
  expect(sum.confirmed).toBeGreaterThan(WORLDS / 20);
});
