import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { Lateness } from './lateness.ts';

const [NEAR, FAR] = REGIONS as readonly [Region, Region, ...Region[]];
const AGENT = {};

let lateness: Lateness;
beforeEach(() => {
  lateness = new Lateness();
});

/** Steps of half a second, each with a hundred results whose delays are spread over what agents collect for. */
function pass(
  steps: number,
  delays: Partial<Record<Region, number>>,
  isExcused = false,
  results = 100,
): void {
  for (let step = 0; step < steps; step += 1) {
    for (const region of REGIONS) {
      const delayMs = delays[region];
      if (delayMs === undefined) continue;
      for (let result = 0; result < results; result += 1) {
        lateness.arrived(region, AGENT, delayMs + (result * 250) / results);
      }
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

test('a way that answers to offers take as well is no delay', () => {
  for (let step = 0; step < 20; step += 1) {
    for (let result = 0; result < 100; result += 1) {
      lateness.arrived(NEAR, AGENT, 10);
      lateness.arrived(FAR, AGENT, 1_600 + (result * 250) / 100, step < 10 ? 1_800 : 0);
    }
    lateness.step(false);
    if (step === 9) expect(seen()).toEqual(['free', 'free', 'free']);
  }
  expect(seen()).toEqual(['free', 'free', 'late']);
});

test('what an agent drops is late wherever it is, for however long', () => {
  pass(10, { [NEAR]: 10, [FAR]: 400 });
  for (let step = 0; step < 3_000; step += 1) {
    for (let result = 0; result < 100; result += 1) {
      lateness.arrived(NEAR, AGENT, 10);
      lateness.dropped(FAR, AGENT);
    }
    lateness.step(false);
    if (step > 1) expect(lateness.of(FAR, false)).toBe('late');
  }
});

test('a pause closes nothing, and what lasts does', () => {
  pass(10, { [NEAR]: 10, [FAR]: 10 });
  pass(5, { [NEAR]: 400, [FAR]: 400 });
  expect(seen()).toEqual(['busy', 'busy', 'busy']);
  expect(lateness.everywhere(false)).toBe('late');
  pass(1, { [NEAR]: 400, [FAR]: 400 });
  expect(seen()).toEqual(['late', 'busy', 'busy']);
});

test('what begins a little late is a sign that no more can be done, and closes nothing', () => {
  pass(10, { [NEAR]: 10 });
  pass(10, { [NEAR]: 160 });
  expect([seen(true), seen(false)]).toEqual([
    ['busy', 'busy', 'free'],
    ['busy', 'busy', 'free'],
  ]);
});

test('a check that an agent drops, because it would begin late, counts as one that began late', () => {
  pass(10, { [NEAR]: 10 });
  for (let step = 0; step < 10; step += 1) {
    for (let result = 0; result < 85; result += 1) lateness.arrived(NEAR, AGENT, 100);
    for (let dropped = 0; dropped < 15; dropped += 1) lateness.dropped(NEAR, AGENT);
    lateness.step(false);
  }
  expect(lateness.everywhere(false)).toBe('late');
});

test('what an agent drops in one moment of each five seconds closes nothing and lowers nothing', () => {
  pass(10, { [NEAR]: 10 });
  for (let step = 0; step < 100; step += 1) {
    const dropped = step % 10 === 0 ? 60 : 0;
    for (let result = dropped; result < 100; result += 1) lateness.arrived(NEAR, AGENT, 10);
    for (let result = 0; result < dropped; result += 1) lateness.dropped(NEAR, AGENT);
    lateness.step(false);
    expect(seen(false)).toEqual(['free', 'free', 'free']);
  }
});

test('a region that alone is late answers for itself alone', () => {
  pass(10, { [NEAR]: 10, [FAR]: 10 });
  pass(10, { [NEAR]: 10, [FAR]: 400 });
  expect(seen()).toEqual(['free', 'free', 'late']);
  pass(10, { [NEAR]: 10, [FAR]: 2_000 });
  expect(seen()).toEqual(['free', 'free', 'overloaded']);
});

test.each([
  ['a few results', () => lateness.arrived(NEAR, AGENT, 3_000)],
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

describe('regions with too few results to be judged for themselves', () => {
  const [large, ...small] = REGIONS;
  const beside = (largeMs: number, smallMs: number, count = 10) => {
    for (let step = 0; step < 10; step += 1) {
      for (let result = 0; result < 100; result += 1) lateness.arrived(large, AGENT, largeMs);
      for (const region of small.slice(0, count)) lateness.arrived(region, AGENT, smallMs);
      lateness.step(false);
    }
  };

  test('are not late with the large one beside them', () => {
    beside(10, 10);
    beside(2_000, 10);
    expect([lateness.everywhere(true), lateness.of(large, true)]).toEqual(['free', 'overloaded']);
  });

  test('are late with it where all are', () => {
    beside(10, 10);
    beside(2_000, 2_000);
    expect([lateness.everywhere(true), lateness.of(large, true)]).toEqual(['overloaded', 'busy']);
  });

  test('are judged together where there are no others', () => {
    pass(10, Object.fromEntries(REGIONS.map((region) => [region, 10])), false, 5);
    pass(10, Object.fromEntries(REGIONS.map((region) => [region, 700])), false, 5);
    expect(lateness.everywhere(true)).toBe('late');
  });
});

describe('of several agents in a region', () => {
  const agents = [{}, {}, {}];
  const delayed = (...delaysMs: readonly number[]) => {
    for (let step = 0; step < 10; step += 1) {
      agents.forEach((agent, index) => {
        for (let result = 0; result < 30; result += 1) {
          lateness.arrived(NEAR, agent, (delaysMs[index] as number) + (result * 250) / 30);
        }
      });
      lateness.step(false);
    }
  };
  beforeEach(() => delayed(10, 10, 10));

  test.each([
    ['one that is slow', [10, 700, 10], 'free'],
    ['one that is very slow', [10, 10, 3_000], 'free'],
    ['all', [700, 700, 700], 'late'],
    ['all, and very slow', [3_000, 2_000, 3_000], 'overloaded'],
  ] as const)('%s', (_, delaysMs, pressure) => {
    delayed(...delaysMs);
    expect(lateness.everywhere(true)).toBe(pressure);
  });

  test('many of which each says little are judged together', () => {
    const many = Array.from({ length: 40 }, () => ({}));
    for (let step = 0; step < 10; step += 1) {
      for (const agent of many) lateness.arrived(NEAR, agent, 700);
      lateness.step(false);
    }
    expect(lateness.everywhere(true)).toBe('late');
  });
});
