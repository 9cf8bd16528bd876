import { REGIONS } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type TransitionVotes, transitionWords } from './status-changes.ts';

type Vote = TransitionVotes['votes'][number];

const vote = (more: Partial<Vote>): Vote => ({
  region: 'hosta-fra',
  outcome: 'passed',
  slot: 1,
  at: 1,
  latency: 84,
  status_code: 200,
  error_message: null,
  counted: true,
  ...more,
});
const failed = (region: Vote['region'], error_message: string) =>
  vote({ region, outcome: 'failed', error_message });
const degraded = (region: Vote['region'], latency: number) => vote({ region, outcome: 'degraded', latency });

describe('the words for a status change', () => {
  test.each<[string, string, Vote[], string]>([
    [
      'two regions that found the same',
      'majority-failed',
      [failed('hosta-fra', 'status code 503'), failed('hostb-par', 'status code 503'), vote({})],
      '2 of 3 regions failed: status code 503 (hosta-fra, hostb-par).',
    ],
    [
      'two regions that found different things',
      'majority-failed',
      [failed('hosta-fra', 'no answer within 5 s.'), failed('hostb-par', 'status code 503'), vote({})],
      '2 of 3 regions failed: no answer within 5 s (hosta-fra); status code 503 (hostb-par).',
    ],
    [
      'a monitor with one region',
      'majority-failed',
      [failed('hosta-fra', 'status code 503')],
      'The only region failed: status code 503 (hosta-fra).',
    ],
    [
      'a vote that did not count',
      'majority-failed',
      [failed('hosta-fra', 'x'), { ...failed('hosta-ams', 'y'), counted: false }],
      'The only region failed: x (hosta-fra).',
    ],
    [
      'failures that never met',
      'failures-apart',
      [failed('hosta-fra', 'x'), failed('hostb-par', 'x'), vote({})],
      '2 of 3 regions failed, but too few of them at one moment, so the status stayed: x (hosta-fra, hostb-par).',
    ],
    [
      'as many regions as the quorum says',
      'quorum-failed',
      [failed('hosta-fra', 'x'), vote({}), vote({})],
      '1 of 3 regions failed: x (hosta-fra).',
    ],
    [
      'slow answers',
      'majority-degraded',
      [degraded('hosta-fra', 912), degraded('hostb-par', 1_204), vote({})],
      '2 of 3 regions were degraded: 912 ms (hosta-fra); 1.2 sec (hostb-par).',
    ],
    [
      'a failure beside a slow answer',
      'majority-degraded',
      [degraded('hosta-fra', 912), failed('hostb-par', 'x'), vote({})],
      '2 of 3 regions failed or were degraded: 912 ms (hosta-fra); x (hostb-par).',
    ],
    [
      'a lone failure',
      'minority-failed',
      [failed('hosta-fra', 'x'), vote({}), vote({})],
      '1 of 3 regions failed, which is too few for an error: x (hosta-fra).',
    ],
    [
      'a lone slow answer',
      'minority-degraded',
      [degraded('hosta-fra', 912), vote({}), vote({})],
      '1 of 3 regions was degraded, which is too few: 912 ms (hosta-fra).',
    ],
    ['a recovery', 'all-passed', [vote({}), vote({})], 'All 2 regions passed.'],
    ['a recovery of one region', 'all-passed', [vote({})], 'The only region passed.'],
    ['no vote', 'too-few-votes', [], 'No region has a vote that counts.'],
    [
      'one vote of many',
      'too-few-votes',
      [vote({})],
      'Only 1 region has a vote that counts, which is less than half of them.',
    ],
    ['a reason of another version', 'something-new', [vote({})], 'something-new.'],
    ['a name of every object', 'constructor', [], 'constructor.'],
  ])('of %s', (_name, reason, votes, words) => {
    expect(transitionWords({ reason, votes })).toBe(words);
  });

  test('name five regions of many', () => {
    const votes = REGIONS.slice(0, 8).map((region) => failed(region, 'x'));
    expect(transitionWords({ reason: 'majority-failed', votes })).toBe(
      '8 of 8 regions failed: x (hosta-ams, hosta-arn, hosta-bom, hosta-cdg, hosta-dfw and 3 more).',
    );
  });

  test('are a sentence for all votes and reasons', () => {
    const anyVote = fc.record({
      region: fc.constantFrom(...REGIONS),
      outcome: fc.constantFrom('passed', 'degraded', 'failed'),
      slot: fc.nat(),
      at: fc.nat(),
      latency: fc.option(fc.double({ min: 0, max: 1e5, noNaN: true })),
      status_code: fc.option(fc.integer({ min: 100, max: 599 })),
      error_message: fc.option(fc.string()),
      counted: fc.boolean(),
    });
    const reasons = ['majority-failed', 'failures-apart', 'majority-degraded', 'minority-failed'];
    const others = ['minority-degraded', 'all-passed', 'too-few-votes', 'votes-expired', 'deactivated'];
    fc.assert(
      fc.property(fc.array(anyVote), fc.constantFrom(...reasons, ...others), (votes, reason) => {
        const words = transitionWords({ reason, votes: votes as Vote[] });
        expect(words).toMatch(/^[A-Z0-9][\s\S]*\.$/);
        const said = /^(\d+) of (\d+) regions/.exec(words);
        if (said === null) return;
        const counted = votes.filter((each) => each.counted).length;
        expect(Number(said[2])).toBe(counted);
        expect(Number(said[1])).toBeLessThanOrEqual(counted);
      }),
    );
  });
});
