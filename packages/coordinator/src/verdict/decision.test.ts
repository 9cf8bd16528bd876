import type { Quorum } from '@svc/shared/quorum.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { castVotes, type OpenSlot, slotDecision } from './decision.ts';
import { MONITOR_STATUSES, type MonitorStatus } from './monitor.ts';
import { bitOf, type RegionSet, regionSet, union } from './region-set.ts';
import { type Vote, type VoteOutcome, verdict } from './status.ts';

const [A, B, C] = REGIONS as unknown as [Region, Region, Region];
const THREE = regionSet([A, B, C]);
const OUTCOMES: readonly VoteOutcome[] = ['passed', 'degraded', 'failed'];

function vote(region: Region, outcome: VoteOutcome, slot = 2): Vote {
  return {
    region,
    outcome,
    slot,
    at: 1,
    endedAt: slot,
    failedSince: outcome === 'failed' ? slot : null,
    upSlot: outcome === 'failed' ? 0 : slot,
    expiresAt: 1e6,
    latency: null,
    statusCode: null,
    errorMessage: null,
  };
}

function open(given: readonly Region[], reports: readonly Vote[], others: readonly Region[] = []): OpenSlot {
  const answered = regionSet([...reports.map(({ region }) => region), ...others]);
  return { slot: 2, given: regionSet(given), answered, isGivenKnown: true, deadline: 100, reports };
}

const decisionAt = (
  slot: OpenSlot,
  votes: readonly Vote[],
  electorate: RegionSet,
  now: number,
  status: MonitorStatus = 'active',
  quorum: Quorum = 'majority',
) => slotDecision(slot, { votes, electorate, status, quorum, now, monotonic: now, oldestSlot: 0 });

const cast = (votes: readonly Vote[], news: readonly Vote[]) =>
  castVotes(votes, news, { now: 0, oldestSlot: 0 });

const statusAfter = (
  votes: readonly Vote[],
  electorate: RegionSet,
  standing: MonitorStatus,
  quorum: Quorum = 'majority',
) => verdict(votes, electorate, standing, 0, quorum).status;

const old = (...outcomes: VoteOutcome[]) =>
  outcomes.map((outcome, index) => vote(REGIONS[index] as Region, outcome, 1));

describe('a slot is', () => {
  test('decided when every region has reported, abstained or been skipped', () => {
    expect(decisionAt(open([A, B, C], [vote(A, 'failed')], [B, C]), [], THREE, 0)).toBe('all-answered');
  });

  test('decided as an error only when the failures shared a moment', () => {
    const slot = open([A, B, C], [vote(A, 'failed')], [B]);
    const votes = [vote(B, 'failed', 1), vote(C, 'passed', 1)];
    // B failed in the previous slot, and does not report this slot.
    expect(decisionAt(slot, votes, THREE, 0)).toBeNull();
    expect(decisionAt(slot, votes, THREE, 0, 'error')).toBe('outcome-certain');
    const lasting = [{ ...vote(B, 'failed', 1), endedAt: 2 }, vote(C, 'passed', 1)];
    expect(decisionAt(slot, lasting, THREE, 0)).toBe('outcome-certain');
  });

  test('decided when failures are apart and stay so, whatever the missing region reports', () => {
    const regions = REGIONS.slice(0, 8);
    /**
     * The first region is missing. Of the other regions, five failed: `failedBefore`
     * of them in the previous slot, the rest in this slot.
     */
    const slotWith = (failedBefore: number) => {
      const votes = regions.slice(1, 1 + failedBefore).map((region) => vote(region, 'failed', 1));
      const reports = regions
        .slice(1 + failedBefore)
        .map((region, index) => vote(region, failedBefore + index < 5 ? 'failed' : 'passed'));
      return decisionAt(open(regions, reports, regions.slice(1)), votes, regionSet(regions), 0);
    };
    expect(slotWith(3)).toBe('outcome-certain');
    // With the missing region, five of eight would have failed together.
    expect(slotWith(4)).toBeNull();
  });

  test('undecided while a missing region can change the outcome', () => {
    const slot = open([A, B, C], [vote(A, 'failed'), vote(B, 'passed')]);
    expect(decisionAt(slot, old('passed', 'passed', 'passed'), THREE, 0)).toBeNull();
  });

  test('decided when the missing region cannot change the outcome', () => {
    const slot = open([A, B, C], [vote(A, 'failed'), vote(B, 'failed')]);
    expect(decisionAt(slot, old('passed', 'passed', 'passed'), THREE, 0)).toBe('outcome-certain');
  });

  test('decided when a period has passed', () => {
    const slot = open([A, B, C], [vote(A, 'failed')]);
    expect(decisionAt(slot, [], THREE, 99)).toBeNull();
    expect(decisionAt(slot, [], THREE, 100)).toBe('period-over');
  });

  test('decided by as many failures as the quorum needs, if other reports cannot raise that number', () => {
    const one = open([A, B, C], [vote(A, 'failed')]);
    expect(decisionAt(one, [], THREE, 0, 'active', 'any')).toBe('outcome-certain');
    expect(decisionAt(one, [], THREE, 0, 'active', 1)).toBe('outcome-certain');
    expect(decisionAt(one, [], THREE, 0, 'active', 2)).toBeNull();
    const two = open([A, B, C], [vote(A, 'failed'), vote(B, 'passed')]);
    expect(decisionAt(two, [], THREE, 0, 'active', 'all')).toBe('outcome-certain');
    expect(decisionAt(two, [], THREE, 0, 'active', 2)).toBeNull();
  });

  test('not decided by one of three regions, whatever the others reported before', () => {
    const slot = open([A, B, C], [vote(A, 'failed')]);
    expect(decisionAt(slot, old('failed', 'failed', 'failed'), THREE, 0)).toBeNull();
  });

  test('not decided while too few regions have a vote', () => {
    expect(decisionAt(open([A, B, C], [vote(A, 'passed')]), [], THREE, 0)).toBeNull();
    const two = open([A, B, C], [vote(A, 'passed'), vote(B, 'passed')]);
    expect(decisionAt(two, [], THREE, 0)).toBe('outcome-certain');
  });

  test('waiting for the whole electorate while it is not known which regions were given it', () => {
    const slot = { ...open([A], [vote(A, 'failed')]), isGivenKnown: false };
    expect(decisionAt(slot, [], THREE, 0)).toBeNull();
    expect(decisionAt({ ...slot, isGivenKnown: true }, [], THREE, 0)).toBe('all-answered');
  });
});

describe('votes', () => {
  test('each region keeps its vote about the newest slot', () => {
    const votes = [vote(A, 'passed', 5), vote(B, 'passed', 1)];
    const news = [vote(A, 'failed', 4), vote(B, 'failed', 4), vote(C, 'failed', 4)];
    expect(cast(votes, news).map(({ region, outcome }) => [region, outcome])).toEqual([
      [A, 'passed'],
      [B, 'failed'],
      [C, 'failed'],
    ]);
  });

  test('without a new report the votes stay the same', () => {
    const votes = [vote(A, 'passed', 5)];
    expect(cast(votes, [vote(A, 'failed', 5)])).toBe(votes);
  });

  test('a failed vote continues the run of failures before it', () => {
    const failed = cast([vote(A, 'failed', 5)], [vote(A, 'failed', 7)]);
    expect(failed).toMatchObject([{ slot: 7, failedSince: 5 }]);
    const again = cast(cast(failed, [vote(A, 'degraded', 8)]), [vote(A, 'failed', 9)]);
    expect(again).toMatchObject([{ slot: 9, failedSince: 9 }]);
  });

  test('a run of failures continues over an expired vote while reports about its slot may still vote', () => {
    const votes = [{ ...vote(A, 'failed', 5), expiresAt: 99 }];
    expect(castVotes(votes, [vote(A, 'failed', 7)], { now: 100, oldestSlot: 5 })).toMatchObject([
      { failedSince: 5 },
    ]);
    expect(castVotes(votes, [vote(A, 'failed', 7)], { now: 100, oldestSlot: 6 })).toMatchObject([
      { failedSince: 7 },
    ]);
  });

  test('a late report of a failure belongs to the run of failures that follows', () => {
    const votes = cast([vote(A, 'passed', 2)], [vote(A, 'failed', 9_000)]);
    expect(votes).toMatchObject([{ slot: 9_000, failedSince: 5_002 }]);
    expect(cast(votes, [vote(A, 'failed', 3)])).toMatchObject([{ slot: 9_000, failedSince: 3 }]);
    expect(cast(votes, [vote(A, 'failed', 1)])).toBe(votes);
  });

  test('a late report of a pass breaks the run of failures that it lies in', () => {
    const votes = cast([vote(A, 'failed', 30_000)], [vote(A, 'failed', 90_000)]);
    const broken = cast(votes, [vote(A, 'passed', 60_000)]);
    expect(broken).toMatchObject([{ slot: 90_000, outcome: 'failed', failedSince: 65_000 }]);
    const long = { ...vote(A, 'passed', 60_000), endedAt: 85_000 };
    expect(cast(votes, [long])).toMatchObject([{ slot: 90_000, failedSince: 85_001 }]);
    // Reports about slots before the passed check do not belong to the run any more.
    expect(cast(broken, [vote(A, 'failed', 45_000)])).toBe(broken);
    expect(cast(broken, [vote(A, 'degraded', 15_000)])).toBe(broken);
  });

  test('a failure begins shortly after the last pass, unless that pass has expired', () => {
    const votes = [{ ...vote(A, 'passed', 5), expiresAt: 100 }];
    expect(castVotes(votes, [vote(A, 'failed', 30_000)], { now: 100, oldestSlot: 0 })).toMatchObject([
      { failedSince: 5_005 },
    ]);
    expect(castVotes(votes, [vote(A, 'failed', 30_000)], { now: 101, oldestSlot: 0 })).toMatchObject([
      { failedSince: 30_000 },
    ]);
  });
});

test('a slot is certain if the missing reports keep the status, because the failures could only lie apart', () => {
  // A failed long ago and does not report. B passed after that failure, so B can only fail later.
  const votes = [vote(A, 'failed', 30_000), vote(B, 'passed', 60_000)];
  const slot = { ...open([A, B, C], [vote(C, 'degraded', 90_000)], [A]), slot: 90_000 };
  expect(decisionAt(slot, votes, THREE, 0, 'degraded')).toBe('outcome-certain');
  expect(decisionAt(slot, votes, THREE, 0, 'active')).toBeNull();
  const lasting = [vote(A, 'failed', 30_000), vote(B, 'failed', 30_000)];
  expect(decisionAt(slot, lasting, THREE, 0, 'degraded')).toBeNull();
});

describe('for every electorate', () => {
  const scene = fc.integer({ min: 1, max: 7 }).chain((size) =>
    fc.record({
      regions: fc.constant(REGIONS.slice(0, size) as readonly Region[]),
      before: fc.array(fc.option(fc.constantFrom(...OUTCOMES), { nil: null }), {
        minLength: size,
        maxLength: size,
      }),
      // null: the region reports `not_run`
      now: fc.array(fc.option(fc.constantFrom(...OUTCOMES), { nil: null }), {
        minLength: size,
        maxLength: size,
      }),
      standing: fc.constantFrom(...MONITOR_STATUSES),
      quorum: fc.constantFrom<Quorum>('majority', 'majority', 'any', 'all', 1, 2, 3, 5, 28),
      order: fc.shuffledSubarray([...Array(size).keys()], { minLength: size, maxLength: size }),
    }),
  );

  const votesOf = (regions: readonly Region[], outcomes: readonly (VoteOutcome | null)[], slot: number) =>
    regions.flatMap((region, index) => {
      const outcome = outcomes[index] ?? null;
      return outcome === null ? [] : [vote(region, outcome, slot)];
    });

  test('the order of reports does not matter to the status that is decided', () => {
    fc.assert(
      fc.property(scene, ({ regions, before, now, order, standing, quorum }) => {
        const electorate = regionSet(regions);
        const votes = votesOf(regions, before, 1);
        const complete = statusAfter(cast(votes, votesOf(regions, now, 2)), electorate, standing, quorum);
        const slot = open(regions, []);
        for (const index of order) {
          const region = regions[index] as Region;
          const outcome = now[index] ?? null;
          slot.answered = union(slot.answered, bitOf(region));
          if (outcome !== null) slot.reports = [...slot.reports, vote(region, outcome)];
          if (decisionAt(slot, votes, electorate, 0, standing, quorum) === null) continue;
          expect(statusAfter(cast(votes, slot.reports), electorate, standing, quorum)).toBe(complete);
        }
        expect(slot.answered).toBe(electorate);
      }),
      { numRuns: 500 },
    );
  });

  test('the slot is decided as soon as no missing report could make a difference', () => {
    // null: the region does not report, and has no vote that still counts
    const said = [null, 'passed', 'failed'] as const;
    const combinations = (regions: readonly Region[]): Vote[][] =>
      regions.reduce<Vote[][]>(
        (all, region) =>
          all.flatMap((votes) =>
            said.map((outcome) => (outcome === null ? votes : [...votes, vote(region, outcome)])),
          ),
        [[]],
      );
    fc.assert(
      fc.property(scene, fc.nat(6), ({ regions, before, now, standing, quorum }, answered) => {
        const electorate = regionSet(regions);
        const missing = regions.slice(answered);
        const present = regions.slice(0, answered);
        const slot = open(regions, votesOf(present, now, 2), present);
        const certain = cast(votesOf(present, before, 1), slot.reports);
        // The status counts as `error` before, because a new `error` also needs a shared moment.
        const statuses = new Set(
          combinations(missing).map((more) => statusAfter(cast(certain, more), electorate, 'error', quorum)),
        );
        const isError = statuses.has('error') && standing !== 'error';
        if (statuses.size > 1 || isError) return;
        expect(decisionAt(slot, votesOf(regions, before, 1), electorate, 0, standing, quorum)).not.toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  test('a certain status stays certain, whatever each of the missing regions reports', () => {
    fc.assert(
      fc.property(
        scene,
        fc.nat(6),
        fc.array(fc.constantFrom(2, 3), { minLength: 7, maxLength: 7 }),
        fc.array(fc.constantFrom(null, 'kept', ...OUTCOMES), { minLength: 7, maxLength: 7 }),
        ({ regions, before, now, standing, quorum }, answered, ends, said) => {
          const electorate = regionSet(regions);
          const present = regions.slice(0, answered);
          // Some failures of the slot before last into this slot.
          const votes = votesOf(regions, before, 1).map((each, index) => ({
            ...each,
            endedAt: ends[index] ?? 2,
          }));
          const slot = open(regions, votesOf(present, now, 2), present);
          if (decisionAt(slot, votes, electorate, 0, standing, quorum) !== 'outcome-certain') return;
          const later = (answers: typeof said) => {
            const isKept = ({ region }: Vote) => {
              const index = regions.indexOf(region);
              return index < answered || answers[index] !== null;
            };
            const more = regions.flatMap((region, index) => {
              const answer = answers[index] ?? null;
              return index < answered || answer === null || answer === 'kept' ? [] : [vote(region, answer)];
            });
            return statusAfter(
              cast(votes.filter(isKept), [...slot.reports, ...more]),
              electorate,
              standing,
              quorum,
            );
          };
          expect(later(said)).toBe(later(said.map(() => 'passed')));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('the slot is certain exactly if all possible reports of the missing regions give one verdict', () => {
    const earlier = fc.record({
      outcome: fc.constantFrom(null, ...OUTCOMES),
      slot: fc.constantFrom(40_000, 70_000),
      tookMs: fc.constantFrom(1, 27_000, 60_000),
    });
    fc.assert(
      fc.property(
        scene,
        fc.array(earlier, { minLength: 7, maxLength: 7 }),
        fc.nat(6),
        ({ regions, now, standing, quorum }, before, answered) => {
          const electorate = regionSet(regions);
          const present = regions.slice(0, answered);
          const missing = regions.slice(answered);
          // With five missing regions, the combinations take seconds.
          if (missing.length === 0 || missing.length > 4) return;
          const votes = regions.flatMap((region, index) => {
            const { outcome, slot, tookMs } = before[index] as (typeof before)[number];
            return outcome === null ? [] : [{ ...vote(region, outcome, slot), endedAt: slot + tookMs }];
          });
          const slot = { ...open(regions, votesOf(present, now, 100_000), present), slot: 100_000 };
          // null: the region does not vote, and its earlier vote expires.
          const said = [null, 'kept', ...OUTCOMES] as const;
          const after = (answers: readonly (typeof said)[number][]) => {
            const kept = votes.filter(({ region }) => answers[missing.indexOf(region)] !== null);
            const more = missing.flatMap((region, index) => {
              const answer = answers[index] ?? null;
              return answer === null || answer === 'kept' ? [] : [vote(region, answer, 100_000)];
            });
            return statusAfter(cast(kept, [...slot.reports, ...more]), electorate, standing, quorum);
          };
          let all: (typeof said)[number][][] = [[]];
          for (const _ of missing) all = all.flatMap((answers) => said.map((answer) => [...answers, answer]));
          // Without the votes of more than half of the electorate the
          // status is `unknown`, unless failures alone make the quorum.
          const isAlone = quorum === 'any' || (typeof quorum === 'number' && quorum <= regions.length);
          const isMost = missing.length * 2 > regions.length && !isAlone;
          const statuses = new Set(isMost ? [after(missing.map(() => 'passed')), 'unknown'] : all.map(after));
          expect(decisionAt(slot, votes, electorate, 0, standing, quorum)).toBe(
            statuses.size === 1 ? 'outcome-certain' : null,
          );
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test('while a missing report could make a difference, the slot stays open', () => {
    fc.assert(
      fc.property(scene, fc.nat(6), ({ regions, before, now, standing, quorum }, hidden) => {
        const electorate = regionSet(regions);
        const votes = votesOf(regions, before, 1);
        const missing = regions[hidden % regions.length] as Region;
        const reports = votesOf(regions, now, 2).filter(({ region }) => region !== missing);
        const slot = open(
          regions,
          reports,
          regions.filter((region) => region !== missing),
        );
        const statuses = new Set(
          OUTCOMES.map((outcome) =>
            statusAfter(cast(votes, [...reports, vote(missing, outcome)]), electorate, standing, quorum),
          ),
        );
        if (statuses.size > 1) expect(decisionAt(slot, votes, electorate, 0, standing, quorum)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });
});

test('one region of three that fails every slot makes no error in 1,000 slots of random reporting order', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(5)), fc.constantFrom(A, B, C), (random, bad) => {
      const orders = [
        [A, B, C],
        [A, C, B],
        [B, A, C],
        [B, C, A],
        [C, A, B],
        [C, B, A],
      ] as const;
      let votes: readonly Vote[] = [];
      const statuses = new Set<MonitorStatus>();
      const undecided: number[] = [];
      for (let slot = 1; slot <= 1_000; slot += 1) {
        const current: OpenSlot = { ...open([A, B, C], []), slot };
        let isDecided = false;
        for (const region of orders[random.next().value] ?? orders[0]) {
          const report = vote(region, region === bad ? 'failed' : 'passed', slot);
          if (isDecided) {
            // The report is late, so it becomes a vote at once.
            votes = cast(votes, [report]);
          } else {
            current.answered = union(current.answered, bitOf(region));
            current.reports = [...current.reports, report];
            if (decisionAt(current, votes, THREE, 0) === null) continue;
            isDecided = true;
            votes = cast(votes, current.reports);
          }
          statuses.add(statusAfter(votes, THREE, 'active'));
        }
        if (!isDecided) undecided.push(slot);
      }
      expect({ statuses: [...statuses], undecided }).toEqual({ statuses: ['active'], undecided: [] });
    }),
    { numRuns: 10 },
  );
});
