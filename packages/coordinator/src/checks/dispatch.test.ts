import type { Region } from '@svc/shared/regions.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import {
  EAST,
  FRA,
  liveMonitor,
  PAR,
  TestAgent,
} from '../../../../test/support/coordinator/dispatch-parts.ts';
import { forgetRegions, memoryRig, type Rig } from '../../../../test/support/coordinator/dispatch-rig.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { gridSlotFrom, gridSlotUntil, phaseOf } from '../verdict/schedule.ts';
import { HEARTBEAT_ROUND_MS } from './agents.ts';
import { AHEAD_MS } from './scheduler.ts';

let database: TemporaryStore;
let store: Store;
let rig: Rig;

beforeAll(async () => {
  database = await temporaryStore();
  store = database.store;
});
afterAll(() => database.dispose());
beforeEach(() => forgetRegions(store));
afterEach(() => rig.dispatch.stop());

/** Starts dispatch, with agents that send a heartbeat every 2 s. */
async function begin(
  monitors: readonly LiveMonitor[],
  agents: readonly ConstructorParameters<typeof TestAgent>[1][] = [FRA],
): Promise<TestAgent[]> {
  rig = memoryRig({ store, monitors });
  await rig.dispatch.start();
  const started = agents.map((region) => new TestAgent(rig.bus, region));
  for (const agent of started) keepBeating(agent);
  await rig.clock.advanceSettling(0);
  return started;
}

/**
 * Lets the agent send a heartbeat every 2 s.
 *
 * @returns a function that silences the agent
 */
function keepBeating(agent: TestAgent): () => void {
  agent.beat();
  return rig.clock.every(2_000, () => {
    if (rig.bus.isConnected) agent.beat();
  });
}

/** Lets the agent finish its jobs, and reports to dispatch that its results are recorded. */
function report(agent: TestAgent): void {
  const { held } = agent;
  agent.held = [];
  for (const [id, slot] of held) settle(id, slot, agent.region, false);
}

function settle(monitorId: number, slot: number, region: Region, timedOut = false): void {
  rig.dispatch.outcomeRecorded({ monitorId, slot, region, is: 'reported', timedOut });
}

/** Number of opened slots whose instants have come. */
const begun = () => rig.sink.opens.filter(({ slot }) => slot <= rig.slotClock.now()).length;

describe('from the slot to the result', () => {
  test('a first slot comes at once, and the next lies on the grid', async () => {
    const [agent] = await begin([liveMonitor(1)]);
    await rig.clock.advanceSettling(100);
    expect(rig.sink.opens).toEqual([{ id: 1, slot: expect.any(Number), regions: [FRA] }]);
    expect(agent?.offers).toHaveLength(1);
    const [job] = agent?.offers ?? [];
    expect(job).toMatchObject({ monitor: 1, version: 1 });
    expect(job?.check.reveal()).toMatchObject({ type: 'tcp', uri: '127.0.0.1:9' });
    expect(rig.tokens.isValid(job?.token ?? '', 1, FRA, job?.slot ?? 0)).toBe(true);
    expect(job?.start_within_ms).toBe(10_000);
    expect(rig.dispatch.counters).toMatchObject({
      slots: { dispatched: 1 },
      asked: { first: 1 },
      messages: 1,
    });

    report(agent as TestAgent);
    expect(rig.dispatch.inFlight).toBe(0);
    await rig.clock.advanceSettling(60_000);
    const second = rig.sink.opens[1]?.slot ?? 0;
    expect(second % 30_000).toBe(phaseOf(1, 30_000));
    expect(second - (job?.slot ?? 0)).toBeGreaterThanOrEqual(15_000);
  });

  test('all regions of a monitor get the same slot', async () => {
    const agents = await begin([liveMonitor(1, { regions: [FRA, PAR, EAST] })], [FRA, PAR, EAST]);
    await rig.clock.advanceSettling(200);
    const slots = agents.flatMap(({ offers }) => offers.map(({ slot }) => slot));
    expect(slots).toHaveLength(3);
    expect(new Set(slots).size).toBe(1);
  });

  test('200 due jobs share at most ten messages', async () => {
    const agents = await begin([]);
    rig.clock.advance(2_000);
    for (let id = 1; id <= 200; id += 1) rig.monitors.set(liveMonitor(id, { periodMs: 3_600_000 }));
    // The first slots of 200 monitors lie within 400 ms, because they come at 500 a second.
    const before = rig.dispatch.counters.messages;
    await rig.clock.advanceSettling(1_000);
    expect(agents[0]?.offers).toHaveLength(200);
    expect(rig.dispatch.counters.messages - before).toBeLessThanOrEqual(10);
  });

  test('a slot whose predecessor still runs is skipped in that region, and only there', async () => {
    const monitor = liveMonitor(1, { regions: [FRA, PAR], longestCheckMs: 60_000 });
    const [fra, par] = await begin([monitor], [FRA, PAR]);
    await rig.clock.advanceSettling(200);
    report(par as TestAgent);
    await rig.clock.advanceSettling(45_000);
    expect(rig.sink.opens).toHaveLength(2);
    expect(rig.sink.skips).toEqual([{ id: 1, slot: rig.sink.opens[1]?.slot, region: FRA }]);
    expect(fra?.offers).toHaveLength(1);
    expect(par?.offers).toHaveLength(2);
  });

  test('a check is marked as timed out in that region until it does not time out', async () => {
    const [agent] = await begin([liveMonitor(1)]);
    await rig.clock.advanceSettling(200);
    const first = agent?.offers[0]?.slot ?? 0;
    if (agent) agent.held = [];
    settle(1, first, FRA, true);
    await rig.clock.advanceSettling(45_000);
    expect(agent?.offers.map(({ slow }) => slow)).toEqual([undefined, true]);
    report(agent as TestAgent);
    await rig.clock.advanceSettling(30_000);
    expect(agent?.offers.map(({ slow }) => slow)).toEqual([undefined, true, undefined]);
  });

  test('a timed-out check stays marked while it is `not_run`', async () => {
    const [agent] = await begin([liveMonitor(1, { longestCheckMs: 60_000 })]);
    await rig.clock.advanceSettling(200);
    for (const reason of [undefined, 'overloaded', 'network-down', undefined] as const) {
      const slot = agent?.offers.at(-1)?.slot ?? 0;
      if (agent) agent.held = [];
      const timedOut = reason === undefined && agent?.offers.length === 1;
      rig.dispatch.outcomeRecorded({ monitorId: 1, slot, region: FRA, is: 'reported', timedOut, reason });
      await rig.clock.advanceSettling(45_000);
    }
    expect(agent?.offers.map(({ slow }) => slow)).toEqual([undefined, true, true, true, undefined]);
  });
});

describe('regions without an agent', () => {
  test('are not offered jobs, and no row is written', async () => {
    await begin([liveMonitor(1, { regions: [FRA, PAR] })], [FRA]);
    await rig.clock.advanceSettling(1_100);
    expect(rig.sink.opens.map(({ regions }) => regions)).toEqual([[FRA]]);
    expect(rig.sink.abstentions).toEqual([]);
  });

  test('a region that only other coordinators have counts as one without an agent', async () => {
    const [agent] = await begin([liveMonitor(1, { regions: [FRA, 'office-berlin'] })]);
    await rig.clock.advanceSettling(1_000);
    expect(agent?.offers).toHaveLength(1);
    expect(rig.sink.opens).toMatchObject([{ id: 1, regions: [FRA] }]);
  });

  test('a first slot waits for the first region, then at most half a second for the others', async () => {
    await begin([liveMonitor(1, { regions: [FRA, PAR], periodMs: 3_600_000 })], []);
    await rig.clock.advanceSettling(5_000);
    expect(rig.sink.opens).toEqual([]);
    keepBeating(new TestAgent(rig.bus, FRA));
    await rig.clock.advanceSettling(300);
    expect(rig.sink.opens).toEqual([]);
    keepBeating(new TestAgent(rig.bus, PAR));
    await rig.clock.advanceSettling(100);
    expect(rig.sink.opens.map(({ regions }) => regions)).toEqual([[FRA, PAR]]);
  });

  test('a declared region that loses its last agent is absent from its last heartbeat on, and raises the alarm', async () => {
    const agents = await begin([liveMonitor(1)], []);
    expect(agents).toEqual([]);
    const silence = keepBeating(new TestAgent(rig.bus, FRA));
    await rig.clock.advanceSettling(4_000);
    const lastSeenAt = rig.clock.wall();
    silence();
    await rig.clock.advanceSettling(6_000);
    expect(rig.dispatch.agents.isLive(FRA)).toBe(true);
    await rig.clock.advanceSettling(1_000);
    expect(rig.dispatch.agents.live()).toEqual([]);
    expect(rig.dispatch.counters).toMatchObject({ agentsGone: 1, regionsLost: 1 });
    await rig.dispatch.stop();
    const rows = await store.read.selectFrom('region_absences').selectAll().execute();
    expect(rows).toMatchObject([{ region: FRA, started_at: lastSeenAt, ended_at: null }]);
    expect(rig.presence.hadAgentWithin24h(FRA)).toBe(true);
  });

  test('an agent that drains takes no jobs, so its region is not live', async () => {
    const [agent] = await begin([liveMonitor(1)]);
    await rig.clock.advanceSettling(100);
    if (agent) agent.isDraining = true;
    await rig.clock.advanceSettling(2_000);
    expect(rig.dispatch.agents.live()).toEqual([]);
  });
});

describe('silence', () => {
  test('is not judged while messages wait in the socket', async () => {
    await begin([liveMonitor(1)]);
    await rig.clock.advanceSettling(100);
    rig.bus.freeze();
    await rig.clock.advanceSettling(20_000);
    expect(rig.dispatch.counters.agentsGone).toBe(0);
    rig.bus.thaw();
    await rig.clock.advanceSettling(100);
    expect(rig.dispatch.counters.agentsGone).toBe(0);
  });

  test('is not judged in a late tick nor shortly after', async () => {
    await begin([liveMonitor(1)], []);
    const agent = new TestAgent(rig.bus, FRA);
    agent.beat();
    await rig.clock.advanceSettling(100);
    rig.clock.stall(10_000);
    await rig.clock.advanceSettling(400);
    expect(rig.dispatch.counters).toMatchObject({ agentsGone: 0, ticksLate: 1 });
    agent.beat();
    await rig.clock.advanceSettling(5_000);
    expect(rig.dispatch.counters.agentsGone).toBe(0);
    await rig.clock.advanceSettling(2_000);
    expect(rig.dispatch.counters.agentsGone).toBe(1);
  });

  test('is measured again from a reconnect on', async () => {
    const [agent] = await begin([liveMonitor(1)]);
    await rig.clock.advanceSettling(1_000);
    rig.bus.setConnected(false);
    await rig.clock.advanceSettling(30_000);
    expect(rig.dispatch.counters.agentsGone).toBe(0);
    rig.bus.setConnected(true);
    agent?.beat();
    await rig.clock.advanceSettling(5_000);
    expect(rig.dispatch.counters.agentsGone).toBe(0);
  });

  test('after a reconnect, once heartbeats may arrive, regions are asked once more for jobs without an answer', async () => {
    const [agent] = await begin([liveMonitor(1, { longestCheckMs: 60_000 })]);
    await rig.clock.advanceSettling(1_000);
    rig.bus.setConnected(false);
    await rig.clock.advanceSettling(1_000);
    rig.bus.setConnected(true);
    await rig.clock.advanceSettling(2_000);
    expect(agent?.offers).toHaveLength(1);
    await rig.clock.advanceSettling(600);
    expect(agent?.offers.map(({ slot }) => slot)).toEqual([rig.sink.opens[0]?.slot, rig.sink.opens[0]?.slot]);
  });

  test('of an agent that is gone: its region is asked once more for jobs without an answer', async () => {
    await begin([liveMonitor(1, { longestCheckMs: 60_000 })], []);
    const agent = new TestAgent(rig.bus, FRA);
    const silence = keepBeating(agent);
    await rig.clock.advanceSettling(100);
    silence();
    agent.close();
    const other = new TestAgent(rig.bus, FRA, 'other');
    keepBeating(other);
    await rig.clock.advanceSettling(7_000);
    expect(other.offers.map(({ slot }) => slot)).toEqual([rig.sink.opens[0]?.slot]);
  });

  test('says nothing while the stream of heartbeats may have lost some', async () => {
    await begin([liveMonitor(1)], []);
    const agent = new TestAgent(rig.bus, FRA);
    agent.beat();
    await rig.clock.advanceSettling(100);
    rig.bus.leader = 2;
    // From the next reading on, an agent has the usual time to be heard.
    await rig.clock.advanceSettling(12_000);
    expect(rig.dispatch.agents.isLive(FRA)).toBe(true);
    await rig.clock.advanceSettling(3_000);
    expect(rig.dispatch.agents.isLive(FRA)).toBe(false);
    // The stream itself may be at fault.
    expect(rig.bus.madeAnew).toEqual([FRA]);
  });

  test('of an agent that has drained causes no further job', async () => {
    await begin([liveMonitor(1, { longestCheckMs: 60_000 })], []);
    const agent = new TestAgent(rig.bus, FRA);
    const silence = keepBeating(agent);
    await rig.clock.advanceSettling(100);
    agent.isDraining = true;
    agent.held = [];
    agent.beat();
    silence();
    keepBeating(new TestAgent(rig.bus, FRA, 'other'));
    await rig.clock.advanceSettling(7_000);
    expect(rig.dispatch.counters).toMatchObject({ agentsGone: 1, asked: { first: 1, again: 0 } });
  });

  test('of an agent that is killed while it drains: its region is asked once more for jobs without an answer', async () => {
    await begin([liveMonitor(1, { longestCheckMs: 60_000 })], []);
    const agent = new TestAgent(rig.bus, FRA);
    const silence = keepBeating(agent);
    await rig.clock.advanceSettling(100);
    agent.isDraining = true;
    agent.beat();
    silence();
    agent.close();
    const other = new TestAgent(rig.bus, FRA, 'other');
    keepBeating(other);
    await rig.clock.advanceSettling(7_000);
    expect(other.offers.map(({ slot }) => slot)).toEqual([rig.sink.opens[0]?.slot]);
  });

  test('of an agent that comes back some seconds after the connection does not count', async () => {
    await begin([liveMonitor(1)], []);
    const agent = new TestAgent(rig.bus, FRA);
    agent.beat();
    await rig.clock.advanceSettling(100);
    rig.bus.setConnected(false);
    agent.close();
    await rig.clock.advanceSettling(30_000);
    rig.bus.setConnected(true);
    await rig.clock.advanceSettling(4_000);
    agent.beat();
    await rig.clock.advanceSettling(4_000);
    expect(rig.dispatch.counters.agentsGone).toBe(0);
  });

  test('without a connection nothing is published; jobs wait within their bound', async () => {
    const [agent] = await begin([]);
    await rig.clock.advanceSettling(1_100);
    rig.bus.setConnected(false);
    rig.monitors.set(liveMonitor(1));
    await rig.clock.advanceSettling(5_000);
    expect(rig.dispatch.inFlight).toBe(1);
    expect(agent?.offers).toEqual([]);
    rig.bus.setConnected(true);
    await rig.clock.advanceSettling(100);
    expect(agent?.offers).toHaveLength(1);
    expect(agent?.offers[0]?.start_within_ms).toBeLessThanOrEqual(5_000);

    report(agent as TestAgent);
    rig.bus.setConnected(false);
    await rig.clock.advanceSettling(90_000);
    expect(rig.sink.abstentions.length).toBeGreaterThanOrEqual(2);
    expect(new Set(rig.sink.abstentions.map(({ reason }) => reason))).toEqual(new Set(['no-agent']));
  });
});

describe('changes of the declaration', () => {
  test('jobs of a deactivated monitor are not offered any more', async () => {
    const [agent] = await begin([liveMonitor(1)]);
    if (agent) agent.takes = false;
    await rig.clock.advanceSettling(300);
    rig.monitors.set(liveMonitor(1, { active: false }));
    await rig.clock.advanceSettling(60_000);
    expect(agent?.offers).toHaveLength(1);
    expect(rig.sink.opens).toHaveLength(1);
    expect(rig.sink.abstentions).toEqual([]);
    expect(rig.dispatch.inFlight).toBe(0);
  });

  test('a re-activated monitor gets a slot at once', async () => {
    const [agent] = await begin([liveMonitor(1, { periodMs: 3_600_000 })]);
    await rig.clock.advanceSettling(1_000);
    report(agent as TestAgent);
    rig.monitors.set(liveMonitor(1, { active: false, periodMs: 3_600_000 }));
    await rig.clock.advanceSettling(5_000);
    const activatedAt = rig.clock.wall();
    rig.monitors.set(liveMonitor(1, { periodMs: 3_600_000, activatedAt }));
    await rig.clock.advanceSettling(100);
    expect(agent?.offers).toHaveLength(2);
  });

  describe('of the probed attributes', () => {
    const HOURLY = { periodMs: 3_600_000 } as const;

    test('get a check at once', async () => {
      const [agent] = await begin([liveMonitor(1, HOURLY)]);
      await rig.clock.advanceSettling(1_000);
      report(agent as TestAgent);
      rig.monitors.set(liveMonitor(1, { ...HOURLY, version: 2 }));
      await rig.clock.advanceSettling(100);
      expect(agent?.offers.map(({ version }) => version)).toEqual([1, 2]);
      // No slot on the grid is given within half a period after the first slot.
      report(agent as TestAgent);
      await rig.clock.advanceSettling(HOURLY.periodMs / 2 - 200);
      expect(rig.sink.opens).toHaveLength(2);
    });

    test('get it beside the check of the old version, whose result does not matter', async () => {
      const [agent] = await begin([liveMonitor(1, HOURLY)]);
      await rig.clock.advanceSettling(1_000);
      rig.monitors.set(liveMonitor(1, { ...HOURLY, version: 2 }));
      await rig.clock.advanceSettling(100);
      expect(agent?.offers.map(({ version }) => version)).toEqual([1, 2]);
      expect(rig.sink.skips).toEqual([]);
      const [old, young] = agent?.offers ?? [];
      settle(1, old?.slot ?? 0, FRA);
      expect(rig.dispatch.inFlight).toBe(1);
      settle(1, young?.slot ?? 0, FRA);
      expect(rig.dispatch.inFlight).toBe(0);
    });

    test('get it after off and on again, while the earlier check runs', async () => {
      const [agent] = await begin([liveMonitor(1, HOURLY)]);
      await rig.clock.advanceSettling(1_000);
      rig.monitors.set(liveMonitor(1, { ...HOURLY, active: false }));
      await rig.clock.advanceSettling(1_000);
      rig.monitors.set(liveMonitor(1, { ...HOURLY, activatedAt: rig.clock.wall() }));
      await rig.clock.advanceSettling(100);
      expect(agent?.offers).toHaveLength(2);
      expect(rig.sink.skips).toEqual([]);
    });

    test('with a deactivation and an activation in the same millisecond never repeat a slot', async () => {
      await begin([liveMonitor(1, HOURLY)]);
      await rig.clock.advanceSettling(1_000);
      const at = rig.clock.wall();
      for (const version of [2, 3]) {
        rig.monitors.set(liveMonitor(1, { ...HOURLY, version, active: false }));
        rig.monitors.set(liveMonitor(1, { ...HOURLY, version, activatedAt: at + version }));
        await rig.clock.advanceSettling(50);
      }
      const slots = rig.sink.opens.map(({ slot }) => slot);
      expect(slots).toHaveLength(3);
      expect(new Set(slots).size).toBe(3);
    });

    test('of a thousand monitors at once are spread like first slots', async () => {
      const monitors = Array.from({ length: 1_000 }, (_, index) => liveMonitor(index + 1, HOURLY));
      const [agent] = await begin(monitors);
      // The agent has room for all checks.
      (agent as TestAgent).capacity = 1_000;
      await rig.clock.advanceSettling(5_000);
      report(agent as TestAgent);
      rig.sink.opens.length = 0;
      for (const monitor of monitors) rig.monitors.set({ ...monitor, version: 2 });
      await rig.clock.advanceSettling(1_000);
      expect(begun()).toBeGreaterThanOrEqual(450);
      expect(begun()).toBeLessThanOrEqual(550);
    });
  });

  test('a removed region is not offered jobs any more, and the others go on', async () => {
    const [fra, par] = await begin([liveMonitor(1, { regions: [FRA, PAR] })], [FRA, PAR]);
    if (par) par.takes = false;
    await rig.clock.advanceSettling(200);
    rig.monitors.set(liveMonitor(1, { regions: [FRA] }));
    await rig.clock.advanceSettling(45_000);
    expect(par?.offers).toHaveLength(1);
    expect(rig.sink.opens.at(-1)?.regions).toEqual([FRA]);
    expect(fra?.offers.length).toBeGreaterThanOrEqual(1);
  });

  test('a monitor that waits for a region gets its first slot when a live region is declared', async () => {
    const [fra] = await begin([liveMonitor(1, { regions: [PAR], periodMs: 3_600_000 })], [FRA]);
    await rig.clock.advanceSettling(5_000);
    expect(rig.sink.opens).toEqual([]);
    rig.monitors.set(liveMonitor(1, { regions: [FRA], periodMs: 3_600_000 }));
    await rig.clock.advanceSettling(100);
    expect(fra?.offers).toHaveLength(1);
  });

  test('another period takes effect from the last slot on', async () => {
    const [agent] = await begin([liveMonitor(1, { periodMs: 3_600_000 })]);
    await rig.clock.advanceSettling(200);
    report(agent as TestAgent);
    rig.monitors.set(liveMonitor(1, { periodMs: 30_000 }));
    await rig.clock.advanceSettling(60_000);
    const slots = rig.sink.opens.map(({ slot }) => slot);
    expect(slots[1]).toBe(gridSlotFrom((slots[0] ?? 0) + 15_000, 30_000, phaseOf(1, 30_000)));
  });
});

describe('ahead of their slots', () => {
  /** Starts dispatch with agents. The monitors have had their first slots when it resolves. */
  async function beginAhead(
    monitors: readonly LiveMonitor[],
    regions: readonly Region[] = [FRA],
  ): Promise<TestAgent[]> {
    rig = memoryRig({ store, monitors });
    await rig.dispatch.start();
    const agents = regions.map((region) => new TestAgent(rig.bus, region));
    for (const agent of agents) keepBeating(agent);
    await rig.clock.advanceSettling(HEARTBEAT_ROUND_MS);
    for (const agent of agents) report(agent);
    return agents;
  }

  /** Advances the clock until the agent has its next batch. Returns the time of the slot clock then. */
  async function nextBatch(agent: TestAgent): Promise<number> {
    const before = agent.batches.length;
    while (agent.batches.length === before) await rig.clock.advanceSettling(50);
    return rig.slotClock.now();
  }

  test('jobs go out with the time to wait and their whole bound', async () => {
    const [agent] = await beginAhead([liveMonitor(1)]);
    const now = await nextBatch(agent as TestAgent);
    const job = agent?.offers.at(-1);
    const waitMs = job?.wait_ms ?? 0;
    expect(waitMs).toBe((job?.slot ?? 0) - now);
    expect(waitMs).toBeGreaterThanOrEqual(150);
    expect(waitMs).toBeLessThanOrEqual(AHEAD_MS);
    expect(job?.start_within_ms).toBe(10_000);
    expect(rig.sink.opens.at(-1)?.slot).toBe(job?.slot);
    expect(agent?.batches.at(-1)?.results).toBe(`svc.results.${FRA}`);
  });

  test('jobs share messages', async () => {
    const [agent] = await beginAhead(
      Array.from({ length: 600 }, (_, index) => liveMonitor(index + 1, { longestCheckMs: 60_000 })),
    );
    await rig.clock.advanceSettling(30_000);
    report(agent as TestAgent);
    const { messages } = rig.dispatch.counters;
    const offers = rig.dispatch.counters.asked.first;
    await rig.clock.advanceSettling(29_000);
    const jobs = rig.dispatch.counters.asked.first - offers;
    expect(jobs).toBeGreaterThan(550);
    expect((rig.dispatch.counters.messages - messages) / 29).toBeLessThanOrEqual(5.1);
  });

  test('up to 512 jobs go in one message', async () => {
    const [agent] = await beginAhead([]);
    rig.bus.setConnected(false);
    for (let id = 1; id <= 600; id += 1) rig.monitors.set(liveMonitor(id));
    await rig.clock.advanceSettling(1_500);
    (agent as TestAgent).takes = false;
    rig.bus.setConnected(true);
    await rig.clock.advanceSettling(100);
    const sizes = () => agent?.batches.map(({ jobs }) => jobs.length) ?? [];
    expect(sizes()[0]).toBe(512);
    expect(agent?.batches[0]?.results).toBe(`svc.results.${FRA}`);
  });

  test('a first slot does not wait for the next round', async () => {
    const [agent] = await beginAhead([]);
    await rig.clock.advanceSettling(1_000);
    rig.monitors.set(liveMonitor(1, { periodMs: 3_600_000 }));
    await rig.clock.advanceSettling(50);
    expect(agent?.offers).toHaveLength(1);
    expect(agent?.offers[0]?.wait_ms).toBeUndefined();
  });

  test('a change after the job went out gets a later slot', async () => {
    const [agent] = await beginAhead([liveMonitor(1)]);
    const now = await nextBatch(agent as TestAgent);
    const ahead = agent?.offers.at(-1)?.slot ?? 0;
    expect(ahead).toBeGreaterThan(now);
    rig.monitors.set(liveMonitor(1, { version: 2 }));
    await nextBatch(agent as TestAgent);
    expect(agent?.offers.at(-1)).toMatchObject({ version: 2, slot: ahead + 1 });
    rig.monitors.set(liveMonitor(1, { version: 2, active: false }));
    rig.monitors.set(liveMonitor(1, { version: 2, activatedAt: now + 50 }));
    await nextBatch(agent as TestAgent);
    expect(agent?.offers.at(-1)).toMatchObject({ version: 2, slot: ahead + 2 });
  });

  test('another period after the job went out does not repeat its slot', async () => {
    const [agent] = await beginAhead([liveMonitor(1)]);
    await nextBatch(agent as TestAgent);
    rig.monitors.set(liveMonitor(1, { periodMs: 60_000 }));
    report(agent as TestAgent);
    await rig.clock.advanceSettling(120_000);
    const slots = rig.sink.opens.map(({ slot }) => slot);
    expect(new Set(slots).size).toBe(slots.length);
    expect(slots).toEqual(slots.toSorted((a, b) => a - b));
  });
});

describe('the start', () => {
  /** Starts dispatch of a coordinator that ran before. Resolves when it has started. */
  function restart(monitors: readonly LiveMonitor[], newest: Record<number, number>): Promise<void> {
    rig = memoryRig({ store, monitors, newest });
    return rig.dispatch.start();
  }
  const NOW = Date.UTC(2026, 0, 1);

  test('a monitor that is changed while heartbeats arrive is planned once, with its new declaration', async () => {
    const slot = NOW - 5_000;
    rig = memoryRig({ store, monitors: [liveMonitor(1), liveMonitor(2)], newest: { 1: slot, 2: slot } });
    const starting = rig.dispatch.start();
    const agent = new TestAgent(rig.bus, FRA);
    agent.held = [[1, slot]];
    keepBeating(agent);
    await rig.clock.advanceSettling(1_000);
    rig.monitors.set(liveMonitor(1, { version: 2 }));
    rig.monitors.delete(2);
    agent.held = [];
    await rig.clock.advanceSettling(2_000);
    await starting;
    await rig.clock.advanceSettling(46_000);
    expect(rig.dispatch.inFlight).toBeLessThanOrEqual(1);
    const opened = rig.sink.opens.map(({ id, slot }) => `${id}:${slot}`);
    expect(opened.every((key) => key.startsWith('1:'))).toBe(true);
    expect(opened.length).toBeGreaterThanOrEqual(1);
    expect(new Set(opened).size).toBe(opened.length);
  });

  describe('after the probed attributes were changed while no coordinator led', () => {
    const HOURLY = { periodMs: 3_600_000, version: 2 } as const;
    /** The last slot and the floor lie a minute back: the slot of a running check, or of the last check. */
    const slot = NOW - 60_000;
    const changed = { newest: { 1: slot }, floors: { 1: slot } };

    test('gives a slot at once', async () => {
      rig = memoryRig({ store, monitors: [liveMonitor(1, HOURLY)], ...changed });
      const agent = new TestAgent(rig.bus, FRA);
      keepBeating(agent);
      const starting = rig.dispatch.start();
      await rig.clock.advanceSettling(2_600);
      await starting;
      await rig.clock.advanceSettling(200);
      expect(agent.offers.map(({ version }) => version)).toEqual([2]);
      // After the slot that follows the change, no further slot is given at once.
      report(agent);
      await rig.clock.advanceSettling(HOURLY.periodMs / 2 - 200);
      expect(rig.sink.opens).toHaveLength(1);
    });

    test('gives it even in a region whose agent still runs the former check', async () => {
      rig = memoryRig({ store, monitors: [liveMonitor(1, HOURLY)], ...changed });
      const agent = new TestAgent(rig.bus, FRA);
      agent.held = [[1, slot]];
      keepBeating(agent);
      const starting = rig.dispatch.start();
      await rig.clock.advanceSettling(2_600);
      await starting;
      await rig.clock.advanceSettling(200);
      expect(rig.sink.skips).toEqual([]);
      expect(agent.offers.map(({ version }) => version)).toEqual([2]);
      settle(1, slot, FRA);
      expect(rig.dispatch.inFlight).toBe(1);
    });

    test('gives none if a later slot was given', async () => {
      rig = memoryRig({
        store,
        monitors: [liveMonitor(1, HOURLY)],
        newest: { 1: slot },
        floors: { 1: slot - 1 },
      });
      keepBeating(new TestAgent(rig.bus, FRA));
      const starting = rig.dispatch.start();
      await rig.clock.advanceSettling(2_600);
      await starting;
      await rig.clock.advanceSettling(HOURLY.periodMs / 2 - 70_000);
      expect(rig.sink.opens).toEqual([]);
    });
  });

  test('slots on time do not wait until the late ones of thousands of monitors are made up for', async () => {
    const [often, seldom] = [30_000, 300_000];
    const fast = Array.from({ length: 20 }, (_, index) => liveMonitor(1 + index, { periodMs: often }));
    const slow = Array.from({ length: 20_000 }, (_, index) => liveMonitor(100 + index, { periodMs: seldom }));
    // No slot was given for an hour. The newest slots of half of the monitors are made up for.
    const newest = [...fast, ...slow].map(({ id }) => [id, NOW - 3_600_000]);
    rig = memoryRig({ store, monitors: [...fast, ...slow], newest: Object.fromEntries(newest) });
    keepBeating(new TestAgent(rig.bus, FRA));
    const starting = rig.dispatch.start();
    await rig.clock.advanceSettling(3_000);
    await starting;
    const since = rig.clock.wall();
    for (let second = 0; second < 15; second += 1) {
      await rig.clock.advanceSettling(1_000);
      const given = new Set(rig.sink.opens.map(({ id, slot }) => `${id} ${slot}`));
      const onTime = fast
        .map(({ id }) => `${id} ${gridSlotUntil(rig.clock.wall(), often, phaseOf(id, often))}`)
        .filter((key) => Number(key.split(' ')[1]) > since);
      expect(onTime.filter((key) => !given.has(key))).toEqual([]);
    }
    const late = rig.sink.opens.filter(({ slot }) => slot <= since);
    expect(late.length).toBeGreaterThan(5_000);
    expect(late.length).toBeLessThan(10_000);
  });

  test('the start is over when the streams of all regions are read', async () => {
    rig = memoryRig({ store, monitors: [liveMonitor(1)], newest: { 1: NOW - 2_000 } });
    rig.behind.add(PAR);
    await rig.dispatch.start();
    keepBeating(new TestAgent(rig.bus, FRA));
    await rig.clock.advanceSettling(10_000);
    expect(rig.recovery.resumedCount).toBe(0);
    rig.behind.clear();
    await rig.clock.advanceSettling(60_000);
    expect(rig.recovery.resumedCount).toBe(1);
  });

  test('slots recorded under a clock that was ahead are not repeated, at any start until they are past', async () => {
    const ahead = gridSlotFrom(NOW + 180_000, 30_000, phaseOf(1, 30_000));
    const slots: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const at = NOW + round * 60_000;
      // Before the first start, the newest slot is a slot from the right clock. The monitor was activated
      // under the clock that was ahead.
      const newest = slots.at(-1) ?? NOW - 30_000;
      rig = memoryRig({
        store,
        monitors: [liveMonitor(1, { activatedAt: ahead })],
        newest: { 1: newest },
        ahead,
        at,
      });
      const starting = rig.dispatch.start();
      const agent = new TestAgent(rig.bus, FRA);
      keepBeating(agent);
      await rig.clock.advanceSettling(3_000);
      await starting;
      while (rig.clock.wall() < at + 59_000) {
        report(agent);
        await rig.clock.advanceSettling(1_000);
      }
      slots.push(...rig.sink.opens.map(({ slot }) => slot));
      await rig.dispatch.stop();
    }
    expect(slots.length).toBeGreaterThanOrEqual(5);
    // The slots do not lie on the grid of the slots that are recorded already.
    for (const slot of slots) expect((ahead - slot) % 30_000).not.toBe(0);
    for (let index = 1; index < slots.length; index += 1) {
      expect(slots[index]).toBeGreaterThan(slots[index - 1] ?? 0);
    }
  });

  test('slots of a start after a clock that was ahead are not repeated when the clock is set back before the next start', async () => {
    const ahead = gridSlotFrom(NOW + 3_600_000, 30_000, phaseOf(1, 30_000));
    const slots: number[][] = [];
    // The first start finds the right clock. The second start finds a clock that was
    // set back by a minute and a half.
    for (const at of [NOW, NOW - 91_000]) {
      rig = memoryRig({ store, monitors: [liveMonitor(1)], newest: { 1: at - 30_000 }, ahead, at });
      const starting = rig.dispatch.start();
      const agent = new TestAgent(rig.bus, FRA);
      keepBeating(agent);
      await rig.clock.advanceSettling(3_000);
      await starting;
      while (rig.clock.wall() < NOW + 120_000) {
        report(agent);
        await rig.clock.advanceSettling(1_000);
      }
      slots.push(rig.sink.opens.map(({ slot }) => slot));
      await rig.dispatch.stop();
    }
    const [first = [], second = []] = slots;
    expect(first.length).toBeGreaterThanOrEqual(3);
    expect(second.length).toBeGreaterThanOrEqual(6);
    expect(second.filter((slot) => first.includes(slot))).toEqual([]);
  });

  test('the newest missed slot runs once when it is young', async () => {
    const phase = phaseOf(1, 3_600_000);
    const missed = gridSlotFrom(NOW - 3_600_000, 3_600_000, phase);
    const isYoung = NOW + 2_500 - missed < 1_800_000;
    const starting = restart([liveMonitor(1, { periodMs: 3_600_000 })], { 1: missed - 3 * 3_600_000 });
    keepBeating(new TestAgent(rig.bus, FRA));
    await rig.clock.advanceSettling(3_000);
    await starting;
    expect(rig.sink.opens.map(({ slot }) => slot)).toEqual(isYoung ? [missed] : []);
  });
});

describe('the load', () => {
  test('first slots come at 500 a second', async () => {
    await begin([]);
    await rig.clock.advanceSettling(1_100);
    for (let id = 1; id <= 1_000; id += 1) rig.monitors.set(liveMonitor(id, { periodMs: 3_600_000 }));
    await rig.clock.advanceSettling(1_000);
    expect(begun()).toBeGreaterThanOrEqual(450);
    expect(begun()).toBeLessThanOrEqual(550);
    await rig.clock.advanceSettling(1_100);
    expect(rig.sink.opens).toHaveLength(1_000);
    // Each slot has an instant of its own, except for the few slots on the grid.
    expect(new Set(rig.sink.opens.map(({ slot }) => slot)).size).toBeGreaterThan(990);
  });

  test('if agents have no room, every second slot is left out, and the evaluation gets these slots', async () => {
    const [agent] = await begin([liveMonitor(1)]);
    report(agent as TestAgent);
    if (agent) agent.load = { begun: 100, late: 50, behind: 50 };
    await rig.clock.advanceSettling(8_000);
    if (agent) agent.load = { begun: 100, late: 30, behind: 0 };
    for (let period = 0; period < 4; period += 1) {
      await rig.clock.advanceSettling(30_000);
      report(agent as TestAgent);
      // Most checks are late, so the factor stays.
      if (agent) agent.load = { begun: 100, late: 60, behind: 0 };
    }
    const leftOut = rig.sink.leftOuts.map(({ slot }) => slot);
    const opened = rig.sink.opens.map(({ slot }) => slot);
    expect(leftOut.length).toBeGreaterThan(1);
    expect(rig.sink.leftOuts[0]).toMatchObject({ id: 1, regions: [FRA] });
    expect(opened.filter((slot) => leftOut.includes(slot))).toEqual([]);
    expect(rig.dispatch.counters.jobsSkipped['region-overloaded']).toBe(leftOut.length);
  });

  test('after a standstill nothing bursts: slots are made up for at 500 a second', async () => {
    await begin(Array.from({ length: 2_000 }, (_, index) => liveMonitor(index + 1)));
    await rig.clock.advanceSettling(40_000);
    rig.sink.opens.length = 0;
    rig.clock.stall(10_000);
    let most = 0;
    for (let tick = 0; tick < 100; tick += 1) {
      const before = rig.sink.opens.length;
      await rig.clock.advanceSettling(50);
      most = Math.max(most, rig.sink.opens.length - before);
    }
    expect(rig.sink.opens.length).toBeGreaterThan(600);
    // The late tick opens up to 50 late slots and the next one up to 25, and the 27 slots of the next 400 ms.
    expect(most).toBeLessThanOrEqual(102);
  });

  test('the wall clock set forward by an hour skips the slots in between and does not burst', async () => {
    await begin(Array.from({ length: 300 }, (_, index) => liveMonitor(index + 1)));
    await rig.clock.advanceSettling(40_000);
    const before = rig.sink.opens.length;
    rig.clock.stepWall(3_600_000);
    await rig.clock.advanceSettling(1_000);
    expect(rig.sink.opens.length - before).toBeLessThanOrEqual(30);
    expect(rig.dispatch.counters.slots.missed).toBeGreaterThan(250);
    for (const { slot } of rig.sink.opens.slice(before))
      expect(slot).toBeGreaterThan(rig.clock.wall() - 2_000);
  });

  test('the wall clock set back by an hour repeats no slot', async () => {
    const agents = await begin([liveMonitor(1)]);
    await rig.clock.advanceSettling(40_000);
    rig.clock.stepWall(-3_600_000);
    for (let minute = 0; minute < 5; minute += 1) {
      report(agents[0] as TestAgent);
      await rig.clock.advanceSettling(30_000);
    }
    const slots = rig.sink.opens.map(({ slot }) => slot);
    expect(slots.length).toBeGreaterThanOrEqual(4);
    expect(new Set(slots).size).toBe(slots.length);
    expect(slots).toEqual(slots.toSorted((a, b) => a - b));
  });
});

test('a check by hand asks every region, and says which regions stayed silent', async () => {
  await begin([], [FRA, PAR]);
  const running = rig.dispatch.runNow(liveMonitor(1).checkText, [FRA, PAR, EAST], 1_000);
  await rig.clock.advanceSettling(0);
  const request = rig.bus.published.find(({ text }) => text.includes('run_now'));
  expect(JSON.parse(request?.text ?? '')).toMatchObject({ v: 1, kind: 'run_now', check: { type: 'tcp' } });
  const result = { outcome: 'passed', started_at: 1, latency: 3, attempts: [] };
  const outcome = { v: 1, kind: 'run_outcome', agent: 'a', result };
  rig.bus.publish(`svc.runs.${PAR}.${JSON.parse(request?.text ?? '').run}`, JSON.stringify(outcome));
  await rig.clock.advanceSettling(5_900);
  await rig.clock.advanceSettling(200);
  expect(await running).toEqual([
    { region: FRA, agent: null, result: null },
    { region: PAR, agent: 'a', result },
    { region: EAST, agent: null, result: null },
  ]);
});
