import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spread } from './spread.ts';

const distanceOf = (one: { x: number; y: number }, other: { x: number; y: number }) =>
  Math.hypot(one.x - other.x, one.y - other.y);

test('points that are far enough apart stay where they are', () => {
  const points = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
  ];
  expect(spread(points, 10)).toEqual(points);
});

test('points at one place part, and others are pushed', () => {
  const [first, second, third] = spread(
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

test('a dozen points anywhere are apart afterwards, and get the same places again', () => {
  const place = fc.record({ x: fc.integer({ min: 0, max: 40 }), y: fc.integer({ min: 0, max: 40 }) });
  fc.assert(
    fc.property(fc.array(place, { maxLength: 12 }), (points) => {
      const placed = spread(points, 5);
      expect(spread(points, 5)).toEqual(placed);
      for (const [index, one] of placed.entries()) {
        for (const other of placed.slice(index + 1)) expect(distanceOf(one, other)).toBeGreaterThan(4.5);
      }
    }),
  );
});
