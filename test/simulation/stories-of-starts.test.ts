import { expect, test } from 'vitest';
import { MemoryStore } from './memory-store.ts';
import { simulate } from './simulation.ts';
import { CALM, QUIET, type World } from './world.ts';

/* As `stories.test.ts`, of starts that take up slots which were open. */

test.each<[string, Partial<World>]>([
  [
    'a start decides no slot by its time before all are named: what a newer one takes back at once is not announced',
    {
      seed: 972_000_923,
      id: 778_736,
      lengthMs: 90_000,
      periodMs: 30_000,
      regions: null,
      agents: [
        'hosta-arn',
        'hosta-ewr',
        'hosta-fra',
        'hosta-gru',
        'hosta-jnb',
        'hosta-lhr',
        'hosta-nrt',
        'hosta-sjc',
        'hosta-syd',
        'hosta-yyz',
        'hostb-sfo',
        'hostb-tyo',
        'hostc-us-west2',
      ],
      timeoutMs: 1_000,
      isAhead: true,
      mishaps: { ...CALM, late: 0.3, lagMs: 224_195 },
      troubles: [{ from: 2_541, until: 38_733, regions: null, sees: 'refused', flapMs: 0 }],
      moves: [{ at: 39_253, do: 'restart', downMs: 442, isBeforeCommit: true }],
    },
  ],
  [
    'a start waits for both regions of a slot behind a decided one, though nobody had reported it: one failure is no error',
    {
      seed: 61_001_472,
      id: 422_528,
      lengthMs: 90_000,
      periodMs: 30_000,
      regions: ['hosta-ams', 'hosta-arn'],
      agents: ['hosta-ams', 'hosta-arn'],
      retry: 10,
      mishaps: { ...CALM, blip: 0.3, late: 0.3, lagMs: 46_771 },
      moves: [{ at: 6_291, do: 'restart', downMs: 2_568, isBeforeCommit: false }],
    },
  ],
  [
    'what is probed is changed beside a slot, and the coordinator is killed twice: the first slot comes at once',
    {
      lengthMs: 1_200_000,
      id: 769_072,
      regions: ['hosta-lhr', 'hostb-was'],
      agents: ['hosta-lhr', 'hostb-was'],
      isAhead: true,
      commits: { writeMs: 1_289, answerMs: 1_000, stalls: 0, stallMs: 0 },
      moves: [
        { at: 597_070, do: 'change-probe' },
        { at: 597_896, do: 'restart', downMs: 500, isBeforeCommit: false, isUnanswered: true },
        { at: 601_116, do: 'restart', downMs: 500, isBeforeCommit: false },
      ],
    },
  ],
  [
    'a channel is unlinked and linked again while no coordinator runs: its former incident ends, and it is told the present one',
    {
      lengthMs: 3_600_000,
      channels: ['webhook', 'incident_a'],
      troubles: [{ from: 600_000, until: 3_600_000, regions: null, sees: 'refused', flapMs: 0 }],
      moves: [
        { at: 1_800_000, do: 'restart', downMs: 30_000, isBeforeCommit: false },
        { at: 2_085_000, do: 'unlink', channel: 2 },
        { at: 2_085_050, do: 'link', channel: 2, kind: 'incident_a' },
      ],
      isDeclaredMeanwhile: true,
    },
  ],
  [
    'a channel is unlinked while no coordinator runs: what closes its incident says when the incident began',
    {
      lengthMs: 3_600_000,
      channels: ['webhook', 'incident_a'],
      troubles: [{ from: 600_000, until: 3_600_000, regions: null, sees: 'refused', flapMs: 0 }],
      moves: [
        { at: 1_800_000, do: 'restart', downMs: 30_000, isBeforeCommit: false },
        { at: 2_085_000, do: 'unlink', channel: 2 },
      ],
      isDeclaredMeanwhile: true,
    },
  ],
  [
    'a start that excuses a region first decides no slot by its time: one failure of three regions is not announced',
    {
      seed: 62_000_394,
      id: 919_868,
      lengthMs: 1_200_000,
      periodMs: 300_000,
      regions: null,
      agents: ['hosta-arn'],
      channels: ['webhook'],
      isAhead: true,
      mishaps: { ...CALM, notRun: 0.5, late: 0.8, lagMs: 1_237_220 },
      troubles: [
        {
          from: 600_000,
          until: 700_000,
          regions: ['hostc-asia-southeast1'],
          sees: 'refused',
          flapMs: 0,
        },
      ],
      moves: [
        { at: 364_359, do: 'start-agent', region: 'hosta-syd' },
        { at: 364_359, do: 'start-agent', region: 'hostc-asia-southeast1' },
        { at: 929_362, do: 'restart', downMs: 2_235, isBeforeCommit: true },
      ],
    },
  ],
  [
    'a status that a late report made under a clock that was ahead stands after a start, with its vote',
    {
      seed: 61_000_595,
      id: 51_392,
      lengthMs: 420_000,
      periodMs: 60_000,
      regions: null,
      agents: ['hosta-arn'],
      timeoutMs: 10_000,
      isAhead: true,
      mishaps: { ...CALM, notRun: 0.3, late: 0.3, lagMs: 287_555 },
      moves: [
        { at: 242_691, do: 'set-wall-clock', byMs: -61_000 },
        { at: 362_610, do: 'set-wall-clock', byMs: -77_103 },
        { at: 362_710, do: 'restart', downMs: 2_330, isBeforeCommit: false },
      ],
    },
  ],
])('%s', async (_, world) => {
  const { violations } = await simulate({ ...QUIET, ...world }, new MemoryStore(), { isTold: false });
  expect(violations).toEqual([]);
});
