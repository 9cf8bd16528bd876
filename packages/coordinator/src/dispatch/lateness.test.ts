import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { beforeEach, expect, test } from 'vitest';
import { Lateness } from './lateness.ts';

const [NEAR, FAR] = REGIONS as readonly [Region, Region, ...Region[]];

let lateness: Lateness;
beforeEach(() => {
  lateness = new Lateness();
});

/** Steps of half a second, each with a hundred results whose delays are spread over what agents collect for. */
function pass(steps: number, delays: Partial<Record<Region, number>>, isExcused = false): void {
  for (let step = 0; step < steps; step += 1) {
    for (const region of REGIONS) {
      const delayMs = delays[region];
      if (delayMs === undefined) continue;
      for (let result = 0; result < 100; result += 1) lateness.arrived(region, delayMs + result * 2.5);
    }
    lateness.step(isExcused);
  }
}

const seen = (isOpen = true) => [
  lateness.everywhere(isOpen),
  lateness.of(NEAR, isOpen),
  lateness.of(FAR, isOpen),
];

test('what takes its usual time is in time, also far away', () => {
  pass(3_000, { [NEAR]: 10, [FAR]: 400 });
  expect(seen()).toEqual(['free', 'free', 'free']);
});

test('a pause closes nothing, and what lasts does', () => {
  pass(10, { [NEAR]: 10, [FAR]: 10 });
  pass(5, { [NEAR]: 400, [FAR]: 400 });
  expect(seen()).toEqual(['busy', 'busy', 'busy']);
  expect(lateness.everywhere(false)).toBe('late');
  pass(1, { [NEAR]: 400, [FAR]: 400 });
  expect(seen()).toEqual(['late', 'busy', 'busy']);
});

test('a region that alone is late answers for itself alone', () => {
  pass(10, { [NEAR]: 10, [FAR]: 10 });
  pass(10, { [NEAR]: 10, [FAR]: 400 });
  expect(seen()).toEqual(['free', 'free', 'late']);
  pass(10, { [NEAR]: 10, [FAR]: 2_000 });
  expect(seen()).toEqual(['free', 'free', 'overloaded']);
});

test.each([
  ['a few results', () => lateness.arrived(NEAR, 3_000)],
  ['results of an outage', () => pass(1, { [NEAR]: 60_000 })],
])('%s tell nothing', (_, arrive) => {
  pass(10, { [NEAR]: 10 });
  for (let step = 0; step < 10; step += 1) {
    arrive();
    lateness.step(false);
  }
  expect(seen()).toEqual(['free', 'free', 'free']);
});

test('what something else has kept back is excused', () => {
  pass(10, { [NEAR]: 10 });
  pass(10, { [NEAR]: 3_000 }, true);
  expect(seen(false)).toEqual(['free', 'free', 'free']);
});
