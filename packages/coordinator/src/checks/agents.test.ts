import type { Heartbeat } from '@svc/shared/messages/heartbeat.ts';
import { DISPATCH_COUNTERS, type DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { Agents, MOST_LINES, SILENCE_MS } from './agents.ts';

const REGION: Region = 'hosta-fra';

let clock: FakeClock;
let counters: DispatchCounters;
let lines: { msg: string; agent?: string; region?: Region; leftOut?: number }[];
let gone: string[];
let agents: Agents;

beforeEach(() => {
  clock = new FakeClock();
  counters = createTotals(DISPATCH_COUNTERS);
  lines = [];
  gone = [];
  agents = new Agents({
    regions: REGIONS,
    clock,
    log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }),
    counters,
    onRegionLive: () => {},
    onRegionLost: () => {},
    onGone: ({ id, bootId }) => gone.push(`${id}/${bootId}`),
  });
});

function beat(agent: string, facts: Partial<Heartbeat> = {}, region = REGION) {
  return agents.takeHeartbeat(region, {
    v: 1,
    kind: 'heartbeat',
    agent,
    boot: 'boot',
    version: '0.2.0',
    capacity: 10,
    running: 0,
    held: 0,
    loop_delay_ms: 0,
    clock: clock.wall(),
    started_at: 0,
    draining: false,
    ...facts,
  });
}

const said = (text: string) => lines.filter(({ msg }) => msg.includes(text));

describe('agents with one id', () => {
  test('are distinguished by their boot ids, and this is logged once', () => {
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [beat('same', { boot: 'a', running: 1 }), beat('same', { boot: 'b', running: 2 })];
      expect([one?.running, two?.running]).toEqual([1, 2]);
      clock.advance(2_000);
    }
    expect([...agents.agentsOf(REGION)]).toHaveLength(2);
    expect(said('same id')).toMatchObject([{ agent: 'same' }]);
    expect(counters.sharedAgentIds).toBe(1);
  });

  test('a restarted agent is not a second agent, and its former boot id is soon gone', () => {
    beat('same', { boot: 'a' });
    clock.advance(1_000);
    for (let elapsed = 0; elapsed < 4_000; elapsed += 2_000) {
      beat('same', { boot: 'b' });
      clock.advance(2_000);
    }
    agents.forgetSilentAgents(REGION, clock.monotonic());
    expect(gone).toEqual(['same/a']);
    expect(clock.monotonic()).toBeLessThan(SILENCE_MS);
    expect(said('same id')).toEqual([]);
    expect(counters.sharedAgentIds).toBe(0);
  });
});

test("the load of a region is the sum of its agents' loads", () => {
  beat('a', { begun: 100, late: 30, behind: 1 });
  beat('b', { boot: 'b', begun: 100, late: 90, behind: 2, sick: ['starved'] });
  expect(agents.loadOf(REGION)).toEqual({ begun: 200, late: 120, behind: 3, isStarved: true });
});

test('batches that a stream disowned are counted as their number grows, and raise an alarm', () => {
  for (const disowned of [0, 2, 2, 3]) beat('agent', { boot: 'a', disowned });
  expect(counters.batchesDisowned).toBe(3);
  expect(said('tampers')).toHaveLength(1);
});

test('an agent that reports disowned batches in each heartbeat does not fill the log', () => {
  for (let disowned = 1; disowned <= 1_000; disowned += 1) beat(`agent-${disowned % 10}`, { disowned });
  expect(said('tampers')).toMatchObject([{ batches: 1 }]);
  clock.advance(10_000);
  beat('agent-1', { disowned: 1_001 });
  expect(said('tampers')).toHaveLength(2);
});

describe('invented agents do not fill the log', () => {
  const OTHER: Region = 'hostb-par';
  const invent = (count: number, facts: Partial<Heartbeat> = {}) => {
    for (let number = 0; number < count; number += 1) beat(`invented-${number}`, facts);
  };

  /** Three times, forged agents come, fall sick, share their ids, get well and go. */
  function inventAgain() {
    for (let life = 0; life < 3; life += 1) {
      const lives = ['a', 'b', 'a'].map((boot) => `${boot}${life}`);
      for (const boot of lives) {
        invent(250, { boot, sick: ['starved'] });
        invent(250, { boot });
      }
      clock.advance(SILENCE_MS);
      agents.forgetSilentAgents(REGION, clock.monotonic());
    }
  }

  test('and omitted lines are counted', () => {
    inventAgain();
    expect(gone).toHaveLength(1_500);
    // There are five texts, which are logged in at most three intervals of 10 s.
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(5 * 3 * MOST_LINES);
    clock.advance(10_000);
    const before = said('an agent has connected').reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
    beat('invented-last');
    expect(said('an agent has connected').at(-1)?.leftOut).toBe(1_500 - before);
  });

  test('and agents of other regions are still logged', () => {
    inventAgain();
    beat('honest', {}, OTHER);
    expect(said('an agent has connected').at(-1)).toEqual(
      expect.objectContaining({ agent: 'honest', region: OTHER }),
    );
  });
});
