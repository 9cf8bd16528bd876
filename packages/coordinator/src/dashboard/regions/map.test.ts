import { REGIONS } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COORDINATES, regionMap, spreadPoints } from './map.ts';

test('every region has its place inside the map', () => {
  for (const region of REGIONS) {
    const [longitude, latitude] = COORDINATES[region];
    expect([longitude > -130 && longitude < 160, latitude > -40 && latitude < 65], region).toEqual([
      true,
      true,
    ]);
  }
});

test('regions with agents have a shape, a word and a name; the others are dots', () => {
  const map = String(
    regionMap(
      REGIONS.map((region) => {
        if (region === 'hosta-fra') return { region, state: 'operational', word: 'Works' };
        if (region === 'hosta-lhr') return { region, state: 'degraded', word: 'Sick' };
        return { region, state: null, word: '' };
      }),
    ),
  );
  expect(map).toContain(
    'aria-label="Map of the regions. Works: 1, Sick: 1. The table has the same in words."',
  );
  expect(map).toContain('<title>hosta-lhr, London, United Kingdom: Sick</title>');
  expect(map.match(/class="shape"/g)).toHaveLength(2);
  expect(map).toContain('Without agents 26');
  expect(map.length).toBeLessThan(15_000);
});

test('without any agent the map says so', () => {
  const map = String(regionMap(REGIONS.map((region) => ({ region, state: null, word: 'No agent' }))));
  expect(map).toContain('None has an agent');
});

const distanceOf = (one: { x: number; y: number }, other: { x: number; y: number }) =>
  Math.hypot(one.x - other.x, one.y - other.y);

test('points that are far enough apart stay where they are', () => {
  const points = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
  ];
  expect(spreadPoints(points, 10)).toEqual(points);
});

test('points at one place are separated, and others are pushed', () => {
  const [first, second, third] = spreadPoints(
    [
      { x: 0, y: 0 },
      { x: 0, y: 0 },
      { x: 0, y: 4 },
    ],
    5,
  );
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('a point is missing');
  for (const [one, other] of [
    [first, second],
    [second, third],
    [first, third],
  ] as const)
    expect(distanceOf(one, other)).toBeGreaterThan(4.9);
});

test('a dozen points end up apart, and always in the same places', () => {
  const place = fc.record({ x: fc.integer({ min: 0, max: 40 }), y: fc.integer({ min: 0, max: 40 }) });
  fc.assert(
    fc.property(fc.array(place, { maxLength: 12 }), (points) => {
      const placed = spreadPoints(points, 5);
      expect(spreadPoints(points, 5)).toEqual(placed);
      for (const [index, one] of placed.entries()) {
        for (const other of placed.slice(index + 1)) expect(distanceOf(one, other)).toBeGreaterThan(4.5);
      }
    }),
  );
});
