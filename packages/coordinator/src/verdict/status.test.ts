import type { Quorum } from '@svc/shared/quorum.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { regionSet, sizeOf } from './region-set.ts';
import {
  electorateOf,
  failuresCoincide,
  freshForMs,
  statusOf,
  tooFewVotesAt,
  type Vote,
  type VoteOutcome,
  verdict,
  votableForMs,
} from './status.ts';

const OUTCOMES: readonly VoteOutcome[] = ['passed', 'degraded', 'failed'];

function vote(region: Region, outcome: VoteOutcome, expiresAt = 1_000): Vote {
  return {
    region,
    outcome,
    slot: 1,
    at: 1,
    endedAt: 1,
    failedSince: outcome === 'failed' ? 1 : null,
    upSlot: 0,
    expiresAt,
    latency: null,
    statusCode: null,
    errorMessage: null,
  };
}

/**
 * The votes for a text with one letter for each region, in the order of `REGIONS`: p passed, d
 * degraded, f failed, a dot for no vote.
 */
function votesOf(letters: string): Vote[] {
  const outcomes = { p: 'passed', d: 'degraded', f: 'failed' } as const;
  return [...letters].flatMap((letter, index) => {
    const region = REGIONS[index];
    return letter === '.' || region === undefined ? [] : [vote(region, outcomes[letter as 'p' | 'd' | 'f'])];
  });
}

describe('the verdict', () => {
  test.each([
    ['', 'unknown', 'no-electorate'],
    ['p', 'active', 'all-passed'],
    ['f', 'error', 'majority-failed'],
    ['d', 'degraded', 'majority-degraded'],
    ['ff', 'error', 'majority-failed'],
    ['fp', 'active', 'minority-failed'],
    ['fd', 'degraded', 'majority-degraded'],
    ['dp', 'active', 'minority-degraded'],
    ['f.', 'error', 'majority-failed'],
    ['ppf', 'active', 'minority-failed'],
    ['pff', 'error', 'majority-failed'],
    ['pdf', 'degraded', 'majority-degraded'],
    ['pdd', 'degraded', 'majority-degraded'],
    ['ffd', 'error', 'majority-failed'],
    ['f..', 'unknown', 'too-few-votes'],
    ['ff.', 'error', 'majority-failed'],
    ['fp.', 'active', 'minority-failed'],
    ['ff..', 'error', 'majority-failed'],
    ['f...', 'unknown', 'too-few-votes'],
    ['ffpp', 'active', 'minority-failed'],
    ['...', 'unknown', 'too-few-votes'],
  ])('of %j is %s: %s', (letters, status, reason) => {
    const electorate = regionSet(REGIONS.slice(0, letters.length));
    expect(verdict(votesOf(letters), electorate, 'active', 0, 'majority')).toEqual({ status, reason });
  });

  test.each([
    ['any', 'p', 'active', 'all-passed'],
    ['any', 'fppp', 'error', 'quorum-failed'],
    ['any', 'dppp', 'degraded', 'quorum-degraded'],
    ['any', 'f...', 'error', 'quorum-failed'],
    ['any', 'd...', 'unknown', 'too-few-votes'],
    ['any', '....', 'unknown', 'too-few-votes'],
    ['any', '', 'unknown', 'no-electorate'],
    [1, 'fppp', 'error', 'quorum-failed'],
    [2, 'fppp', 'active', 'minority-failed'],
    [2, 'fdppp', 'degraded', 'quorum-degraded'],
    [2, 'ffppp', 'error', 'quorum-failed'],
    [2, 'ff...', 'error', 'quorum-failed'],
    [2, 'f.', 'active', 'minority-failed'],
    [3, 'fff', 'error', 'quorum-failed'],
    [3, 'ff.', 'active', 'minority-failed'],
    [4, 'ff.', 'error', 'quorum-failed'],
    [4, 'f..', 'unknown', 'too-few-votes'],
    ['all', 'fff', 'error', 'quorum-failed'],
    ['all', 'ffp', 'active', 'minority-failed'],
    ['all', 'ffd', 'degraded', 'quorum-degraded'],
    ['all', 'ff.', 'error', 'quorum-failed'],
    ['all', 'f..', 'unknown', 'too-few-votes'],
  ] as const)('with a quorum of %s, of %j is %s: %s', (quorum, letters, status, reason) => {
    const electorate = regionSet(REGIONS.slice(0, letters.length));
    expect(verdict(votesOf(letters), electorate, 'active', 0, quorum)).toEqual({ status, reason });
  });

  test('counts neither votes that are too old nor votes of regions outside the electorate', () => {
    const [a, b, c] = REGIONS;
    const votes = [vote(a, 'passed'), vote(b, 'failed', 500), vote(c, 'failed')];
    const verdictAt = (now: number) => verdict(votes, regionSet([a, b]), 'active', now, 'majority');
    expect(verdictAt(500)).toEqual({ status: 'active', reason: 'minority-failed' });
    expect(verdictAt(501)).toEqual({ status: 'active', reason: 'all-passed' });
  });

  const quorums = fc.constantFrom<Quorum>('majority', 'any', 'all', 1, 2, 3, 28);
  const votes = fc
    .uniqueArray(fc.constantFrom(...REGIONS), { maxLength: 9 })
    .chain((regions) =>
      fc.tuple(
        ...regions.map((region) => fc.constantFrom(...OUTCOMES).map((outcome) => vote(region, outcome))),
      ),
    );

  test('does not depend on the order of the votes', () => {
    fc.assert(
      fc.property(votes, fc.infiniteStream(fc.nat()), (cast, random) => {
        const electorate = regionSet(REGIONS.slice(0, 9));
        const keys = new Map(cast.map((one) => [one, random.next().value]));
        const shuffled = [...cast].sort((x, y) => (keys.get(x) ?? 0) - (keys.get(y) ?? 0));
        expect(verdict(shuffled, electorate, 'active', 0, 'majority')).toEqual(
          verdict(cast, electorate, 'active', 0, 'majority'),
        );
      }),
    );
  });

  test('is never an error while half of the votes or more did not fail', () => {
    fc.assert(
      fc.property(votes, (cast) => {
        const { status } = verdict(
          cast,
          regionSet(cast.map(({ region }) => region)),
          'active',
          0,
          'majority',
        );
        const failed = cast.filter(({ outcome }) => outcome === 'failed').length;
        expect(status === 'error').toBe(failed * 2 > cast.length);
      }),
    );
  });

  test('gets no better when a vote gets worse', () => {
    const rank = { unknown: -1, active: 0, degraded: 1, error: 2 };
    fc.assert(
      fc.property(fc.nat(9), fc.nat(9), fc.nat(9), quorums, (failed, degraded, passed, quorum) => {
        const total = failed + degraded + passed;
        if (passed === 0) return;
        const before = rank[statusOf(failed, degraded, total, total, quorum)];
        expect(rank[statusOf(failed, degraded + 1, total, total, quorum)]).toBeGreaterThanOrEqual(before);
        expect(rank[statusOf(failed + 1, degraded, total, total, quorum)]).toBeGreaterThanOrEqual(before);
      }),
    );
  });
});

describe('ageing', () => {
  test.each([
    [30_000, 10_000, 90_000],
    [30_000, 183_000, 223_000],
    [3_600_000, 45_000, 10_800_000],
  ])(
    'with a period of %i ms and checks of up to %i ms a vote is fresh for %i ms',
    (period, longest, fresh) => {
      expect(freshForMs(period, longest)).toBe(fresh);
    },
  );

  test('the slowest check, reported and decided as late as possible, still votes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 30_000, max: 3_600_000 }), fc.nat(1_500_000), (period, longest) => {
        expect(votableForMs(period, longest)).toBeGreaterThanOrEqual(longest + 2 * period);
      }),
    );
  });

  test('votes are too few after the expiry that leaves fewer than half of the electorate with a vote', () => {
    const [a, b, c] = REGIONS;
    const electorate = regionSet([a, b, c]);
    const votes = [vote(a, 'passed', 300), vote(b, 'passed', 100), vote(c, 'passed', 200)];
    const end = tooFewVotesAt(votes, electorate, 'majority');
    expect(end).toBe(200);
    expect(verdict(votes, electorate, 'active', 200, 'majority').status).toBe('active');
    expect(verdict(votes, electorate, 'active', 201, 'majority').status).toBe('unknown');
  });

  test('the verdict turns unknown right after votes become too few', () => {
    const aged = fc.uniqueArray(
      fc.tuple(fc.constantFrom(...REGIONS.slice(0, 6)), fc.integer({ min: 1, max: 50 })),
      { minLength: 1, maxLength: 6, selector: ([region]) => region },
    );
    fc.assert(
      fc.property(aged, (entries) => {
        const votes = entries.map(([region, expiresAt]) => vote(region, 'passed', expiresAt));
        const electorate = regionSet(REGIONS.slice(0, 6));
        const end = tooFewVotesAt(votes, electorate, 'majority');
        for (let now = 0; now <= 51; now += 1) {
          expect(verdict(votes, electorate, 'active', now, 'majority').status === 'unknown').toBe(
            end === null || now > end,
          );
        }
      }),
    );
  });
});

describe('failures', () => {
  const [a, b, c] = REGIONS;
  const failed = (region: Region, failedSince: number, endedAt: number): Vote => ({
    ...vote(region, 'failed'),
    slot: endedAt,
    failedSince,
    endedAt,
  });
  const passed = vote(c, 'passed');
  const electorate = regionSet([a, b, c]);

  test.each([
    ['overlap', failed(a, 10, 30), failed(b, 20, 40), true],
    ['touch', failed(a, 10, 20), failed(b, 20, 40), true],
    ['lie one within the other', failed(a, 10, 40), failed(b, 20, 30), true],
    ['follow each other', failed(a, 10, 19), failed(b, 20, 40), false],
  ])('that %s', (_name, one, other, coincide) => {
    expect(failuresCoincide([one, other], 2)).toBe(coincide);
    expect(failuresCoincide([other, one], 2)).toBe(coincide);
    expect(verdict([one, other, passed], electorate, 'active', 0, 'majority')).toEqual(
      coincide
        ? { status: 'error', reason: 'majority-failed' }
        : { status: 'active', reason: 'failures-apart' },
    );
  });

  test.each(['active', 'degraded', 'unknown'] as const)('that lie apart do not change %s', (standing) => {
    const votes = [failed(a, 10, 11), failed(b, 20, 21), passed];
    expect(verdict(votes, electorate, standing, 0, 'majority')).toEqual({
      status: standing,
      reason: 'failures-apart',
    });
  });

  test('of as many regions as the quorum says must share a moment too', () => {
    const [one, other] = [failed(a, 10, 11), failed(b, 20, 21)];
    const apart = { status: 'active', reason: 'failures-apart' };
    expect(verdict([one, other, passed], electorate, 'active', 0, 2)).toEqual(apart);
    expect(verdict([one, other, passed], electorate, 'active', 0, 'any').status).toBe('error');
  });

  test.each(['active', 'error'] as const)('that lie apart, with too few votes, end %s', (standing) => {
    const votes = [failed(a, 10, 11), failed(b, 20, 21)];
    const five = regionSet(REGIONS.slice(0, 5));
    expect(verdict(votes, five, standing, 0, 2)).toEqual({ status: 'unknown', reason: 'too-few-votes' });
  });

  test('of few regions make an error until fewer than the quorum are left', () => {
    const votes = [vote(a, 'failed', 300), vote(b, 'failed', 100)];
    expect(tooFewVotesAt(votes, regionSet(REGIONS.slice(0, 5)), 2)).toBe(100);
    expect(tooFewVotesAt(votes, regionSet(REGIONS.slice(0, 5)), 'any')).toBe(300);
    expect(tooFewVotesAt(votes, regionSet(REGIONS.slice(0, 5)), 'all')).toBeNull();
  });

  test('that lie apart do not end an error', () => {
    const votes = [failed(a, 10, 11), failed(b, 20, 21), passed];
    expect(verdict(votes, electorate, 'error', 0, 'majority')).toEqual({
      status: 'error',
      reason: 'majority-failed',
    });
  });

  test('coincide exactly if some instant lies within as many of them as are needed', () => {
    const interval = fc.tuple(fc.nat(20), fc.nat(5)).map(([from, length]) => [from, from + length] as const);
    fc.assert(
      fc.property(
        fc.array(interval, { minLength: 1, maxLength: 9 }),
        fc.integer({ min: 1, max: 9 }),
        (intervals, needed) => {
          const votes = intervals.map(([from, until], index) =>
            failed(REGIONS[index] as Region, from, until),
          );
          const isDown = (at: number) =>
            intervals.filter(([from, until]) => from <= at && at <= until).length;
          const most = Math.max(...Array.from({ length: 26 }, (_, at) => isDown(at)));
          expect(failuresCoincide(votes, needed)).toBe(most >= needed);
        },
      ),
    );
  });
});

test('the electorate has the declared regions that had an agent; without a declaration, all that had one', () => {
  const [a, b, c] = REGIONS;
  const all = regionSet(REGIONS);
  expect(electorateOf(regionSet([a, b]), regionSet([b, c]), all)).toBe(regionSet([b]));
  expect(electorateOf(null, regionSet([b, c]), all)).toBe(regionSet([b, c]));
  // Region c had an agent, but was not given a slot yet.
  expect(electorateOf(null, regionSet([b, c]), regionSet([b]))).toBe(regionSet([b]));
  expect(sizeOf(regionSet(REGIONS))).toBe(28);
});
