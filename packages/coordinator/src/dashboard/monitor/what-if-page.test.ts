import { describe, expect, test } from 'vitest';
import { pairEvents } from './what-if-page.ts';

type Entry = { at: number; kind: string };
const MINUTE = 60_000;
const pairs = (actual: readonly Entry[], other: readonly Entry[]) =>
  pairEvents(actual, other, (a, b) => a.kind === b.kind).map((pair) => [
    pair.actual?.at ?? null,
    pair.other?.at ?? null,
  ]);

describe('pairs of two histories', () => {
  test.each<[name: string, actual: Entry[], other: Entry[], expected: (number | null)[][]]>([
    ['nothing', [], [], []],
    [
      'the same event a little later',
      [{ at: 0, kind: 'down' }],
      [{ at: MINUTE, kind: 'down' }],
      [[0, MINUTE]],
    ],
    [
      'another kind at the same time',
      [{ at: 0, kind: 'down' }],
      [{ at: 0, kind: 'up' }],
      [
        [0, null],
        [null, 0],
      ],
    ],
    [
      'too far apart',
      [{ at: 0, kind: 'down' }],
      [{ at: 11 * MINUTE, kind: 'down' }],
      [
        [null, 11 * MINUTE],
        [0, null],
      ],
    ],
    [
      'each is used once',
      [
        { at: MINUTE, kind: 'down' },
        { at: 0, kind: 'down' },
      ],
      [{ at: MINUTE, kind: 'down' }],
      [
        [MINUTE, MINUTE],
        [0, null],
      ],
    ],
  ])('%s', (_name, actual, other, expected) => {
    expect(pairs(actual, other)).toEqual(expected);
  });
});
