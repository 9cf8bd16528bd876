import { expect, test } from 'vitest';
import { generateWorld } from './generate.ts';
import { replayed } from './journal.ts';

/** Worlds of `npm test`; the quick check replays fewer. */
const WORLDS = process.env.SIMULATED_WORLDS === undefined ? 1_000 : 50;

test('a replay with unchanged settings says every change of status and every alert again', async () => {
  const seen = { worlds: 0, changes: 0, alerts: 0 };
  for (let seed = 1; seen.worlds < WORLDS; seed += 1) {
    const world = await replayed(generateWorld(seed));
    if (world === null) continue;
    expect({ seed, ...world.again }).toEqual({ seed, ...world.told });
    seen.worlds += 1;
    seen.changes += world.told.changes.length;
    seen.alerts += world.told.alerts.length;
  }
  // The worlds are not empty.
  expect(seen.changes).toBeGreaterThan(3 * WORLDS);
  expect(seen.alerts).toBeGreaterThan(WORLDS);
});
