import { expect, test } from 'vitest';
import { generateWorld } from './generate.ts';
import { replayed } from './journal.ts';

/** Worlds of `npm test`; the quick check replays fewer. */
const WORLDS = process.env.SIMULATED_WORLDS === undefined ? 1_000 : 100;

test('a replay with unchanged settings says every change of status and every alert again', async () => {
  let changes = 0;
  let alerts = 0;
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const { told, again } = await replayed(generateWorld(seed));
    expect({ seed, ...again }).toEqual({ seed, ...told });
    changes += told.changes.length;
    alerts += told.alerts.length;
  }
  // The worlds are not empty.
  expect(changes).toBeGreaterThan(WORLDS);
  expect(alerts).toBeGreaterThan(WORLDS);
});
