import { afterAll, beforeAll, expect, test } from 'vitest';
import { DatabaseWorldStore } from './database-store.ts';
import { generateWorld } from './generate.ts';
import { MemoryStore } from './memory-store.ts';
import { simulate } from './simulation.ts';

let sqlite: DatabaseWorldStore;

beforeAll(async () => {
  sqlite = await DatabaseWorldStore.open();
});

afterAll(() => sqlite.close());

/** The quick check compares fewer worlds than `npm test`. */
const WORLDS = process.env.SIMULATED_WORLDS === undefined ? 12 : 4;
/** Seeds whose worlds have restarts, changes of the monitor and channels. */
const SEEDS = Array.from({ length: WORLDS }, (_, index) => 1_001 + index);

test.each(SEEDS)('world %i is told in memory as it is in the database', async (seed) => {
  await sqlite.clear();
  const inDatabase = await simulate(generateWorld(seed), sqlite, { isTold: true });
  const inMemory = await simulate(generateWorld(seed), new MemoryStore(), { isTold: true });
  expect(inMemory.story).toEqual(inDatabase.story);
});
