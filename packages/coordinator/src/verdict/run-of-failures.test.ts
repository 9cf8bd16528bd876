import { REGIONS, type Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { castVotes } from './decision.ts';
import type { Vote, VoteOutcome } from './status.ts';

const [A] = REGIONS as unknown as [Region];
const PERIOD = 30_000;

function vote(outcome: VoteOutcome, slot: number): Vote {
  return {
    region: A,
    outcome,
    slot,
    at: 1,
    endedAt: slot + 40,
    failedSince: outcome === 'failed' ? slot : null,
    upSlot: outcome === 'failed' ? 0 : slot,
    expiresAt: 1e9,
    latency: null,
    statusCode: null,
    errorMessage: null,
  };
}

const castInOrder = (reports: readonly Vote[]) =>
  reports.reduce<readonly Vote[]>(
    (votes, report) => castVotes(votes, [report], { now: 0, oldestSlot: 0 }),
    [],
  );

const outcomes = fc.array(fc.constantFrom<VoteOutcome>('failed', 'failed', 'passed', 'degraded'), {
  minLength: 1,
  maxLength: 7,
});

test('a run of failures begins after the last other outcome and no later than the next failure, in whatever order reports are read', () => {
  const scene = outcomes.chain((of) => {
    const reports = of.map((outcome, index) => vote(outcome, (index + 1) * PERIOD));
    return fc.record({
      reports: fc.constant(reports),
      read: fc.shuffledSubarray(reports, { minLength: reports.length }),
    });
  });
  fc.assert(
    fc.property(scene, ({ reports, read }) => {
      const newest = castInOrder(read)[0] as Vote;
      expect(newest.slot).toBe(reports.length * PERIOD);
      const lastUp = reports.findLastIndex(({ outcome }) => outcome !== 'failed');
      if (lastUp === reports.length - 1) {
        expect(newest).toMatchObject({ failedSince: null, upSlot: newest.slot });
        return;
      }
      const firstFailed = reports[lastUp + 1] as Vote;
      expect(newest.failedSince).toBeGreaterThan(reports[lastUp]?.slot ?? 0);
      expect(newest.failedSince).toBeLessThanOrEqual(firstFailed.slot);
    }),
    { numRuns: 2_000 },
  );
});
