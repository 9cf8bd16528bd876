import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LeasedShard, nextShardStep } from './balance.ts';

const FREE = '';

/** Shards that these coordinators lead. */
const ledBy = (...coordinators: string[]): LeasedShard[] =>
  coordinators.map((coordinator, id) => ({
    id,
    coordinator,
    isFree: coordinator === FREE,
  }));

test.each<[string, LeasedShard[], string[], { take: number[]; resign: number | null }]>([
  ['the only coordinator takes all', ledBy(FREE, FREE, FREE), [], { take: [0, 1, 2], resign: null }],
  ['of two that start, each takes half', ledBy(FREE, FREE), ['b'], { take: [0], resign: null }],
  ['what another one leads stays there', ledBy('b', 'b'), ['b'], { take: [], resign: null }],
  ['a new coordinator gets one at a time', ledBy('a', 'a', 'a'), ['b'], { take: [], resign: 2 }],
  ['and takes it itself', ledBy('a', 'a', FREE), ['b'], { take: [], resign: null }],
  ['a difference of one stays', ledBy('a', 'a', 'b'), ['b'], { take: [], resign: null }],
  ['the shards of a dead one are taken at once', ledBy('a', FREE, FREE), [], { take: [1, 2], resign: null }],
  ['up to the share', ledBy('a', 'b', FREE, FREE), ['b'], { take: [2], resign: null }],
])('%s', (_, shards, living, step) => {
  expect(nextShardStep(shards, living, 'a')).toEqual(step);
});

/** Lets the coordinators look in turn until none does anything more. Returns the number of shards of each. */
function settled(shards: LeasedShard[], living: readonly string[]): number[] {
  for (let still = 0, turn = 0; still < living.length; turn += 1) {
    expect(turn).toBeLessThan(1_000);
    const own = living[turn % living.length] as string;
    const { take, resign } = nextShardStep(shards, living, own);
    still = take.length === 0 && resign === null ? still + 1 : 0;
    for (const id of take) shards[id] = { id, coordinator: own, isFree: false };
    if (resign !== null) shards[resign] = { id: resign, coordinator: own, isFree: true };
  }
  return living.map((own) => shards.filter(({ coordinator }) => coordinator === own).length);
}

test('wherever the shards lie, they end up evenly among those that live', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', 'c', 'd', FREE), { minLength: 1, maxLength: 64 }),
      fc.integer({ min: 1, max: 4 }),
      (coordinators, alive) => {
        const living = ['a', 'b', 'c', 'd'].slice(0, alive);
        const present = coordinators.map((each) => (living.includes(each) ? each : FREE));
        const counts = settled(ledBy(...present), living);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(coordinators.length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      },
    ),
  );
});
