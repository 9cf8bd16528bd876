import { CAPABILITIES, type JobKey } from '@svc/shared/messages/heartbeat.ts';
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
import {
  ANY_TOKENS,
  forgetRegions,
  memoryRig,
  type Rig,
} from '../../../../test/support/coordinator/dispatch-rig.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { gridSlotFrom, phaseOf } from '../domain/schedule.ts';
import type { Store } from '../store/store.ts';
import { MOST_AHEAD_MS } from './scheduler.ts';

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

const TICK_MS = 50;

/** Agents and a recorder that do as much as they can, in the order in which it comes. */
class World {
  readonly agents: ReadonlyMap<Region, TestAgent>;
  /** Jobs per second that each region's agent runs. */
  readonly runs = new Map<Region, number>();
  /** Monitors that wait for a place behind those that time out, and whether they time out themselves. */
  isSlow: (id: number) => boolean = () => false;
  timesOut = false;
  /** Checks per second of those that wait there which get a place; a monitor waits there from its first time-out on. */
  slowRuns = Number.POSITIVE_INFINITY;
  #slowEarned = 0;
  readonly #timedOut = new Set<number>();
  /** Regions whose agents stand still. */
  readonly still = new Set<Region>();
  /** Checks that agents did not begin, because it was too late for them. */
  readonly dropped: { id: number; slot: number; region: Region }[] = [];
  /** Of each check that was begun: how late, ms. */
  readonly latenessMs = new Map<Region, number[]>();
  /** Results per second that are recorded. */
  records = Number.POSITIVE_INFINITY;
  readonly #toRecord: { id: number; slot: number; region: Region; at: number }[] = [];
  #earned = 0;

  constructor(regions: readonly Region[]) {
    this.agents = new Map(regions.map((region) => [region, new TestAgent(rig.bus, region)]));
    // Hundreds of thousands of jobs are offered.
    rig.bus.remembers = false;
    for (const agent of this.agents.values()) {
      agent.remembers = false;
      agent.understands = CAPABILITIES;
      agent.capacity = 400;
      agent.beat();
      rig.clock.every(2_000, () => {
        if (!this.still.has(agent.region)) agent.beat();
      });
    }
  }

  /** Messages to the region and back take this long, ms. */
  isFar(region: Region, tripMs: number): void {
    const agent = this.agents.get(region) as TestAgent;
    agent.travels = (arrive) => {
      rig.clock.after(tripMs / 2, arrive);
    };
  }

  async run(seconds: number): Promise<void> {
    for (let tick = 0; tick < (seconds * 1_000) / TICK_MS; tick += 1) {
      await rig.clock.advanceSettling(TICK_MS);
      for (const agent of this.agents.values()) {
        if (!this.still.has(agent.region)) this.#runJobs(agent);
      }
      this.#record();
    }
  }

  #runJobs(agent: TestAgent): void {
    const now = rig.slotClock.now();
    const most = Math.ceil(((this.runs.get(agent.region) ?? 1e6) * TICK_MS) / 1_000);
    const isTooLate = ([id, slot]: JobKey) => now - slot > (agent.startWithinMsOf.get(id) ?? 0);
    for (const [monitorId, slot] of agent.held.filter(isTooLate)) {
      this.dropped.push({ id: monitorId, slot, region: agent.region });
      const job = { monitorId, slot, region: agent.region, timedOut: false } as const;
      rig.dispatch.settled({ ...job, is: 'reported', reason: 'overloaded' });
    }
    agent.held = agent.held.filter((key) => !isTooLate(key));
    const waits = (id: number) =>
      this.isSlow(id) && (this.slowRuns === Number.POSITIVE_INFINITY || this.#timedOut.has(id));
    const isBegun = ([id, slot]: JobKey) => slot <= now - (waits(id) ? 3_000 : 0);
    this.#slowEarned = Math.min(this.slowRuns, this.#slowEarned + (this.slowRuns * TICK_MS) / 1_000);
    const hasPlace = ([id]: JobKey) => {
      if (!waits(id)) return true;
      if (this.#slowEarned < 1) return false;
      this.#slowEarned -= 1;
      return true;
    };
    const started = agent.held.filter(isBegun).slice(0, most).filter(hasPlace);
    const ended = new Set(started);
    agent.held = agent.held.filter((key) => !ended.has(key));
    const { region } = agent;
    const late = this.latenessMs.get(region) ?? [];
    this.latenessMs.set(region, late);
    for (const [id, slot] of started) {
      late.push(now - slot);
      if (this.isSlow(id) && this.timesOut) this.#timedOut.add(id);
      agent.travels(() => {
        this.#toRecord.push({ id, slot, region, at: now });
        rig.dispatch.arrived(id, slot, region, this.isSlow(id) && this.timesOut ? null : 0);
      });
    }
    // What does not fit is refused, as agents do from four times their capacity on. Jobs of later slots take no place yet.
    const begun = agent.held.filter(([, slot]) => slot <= now);
    agent.answer = begun.length >= 4 * agent.capacity ? 'full' : 'accept';
  }

  #record(): void {
    this.#earned = Math.min(this.records, this.#earned + (this.records * TICK_MS) / 1_000);
    const recorded = this.#toRecord.splice(0, Math.floor(this.#earned));
    this.#earned -= recorded.length;
    for (const { id, slot, region } of recorded) {
      const timedOut = this.isSlow(id) && this.timesOut;
      rig.dispatch.settled({ monitorId: id, slot, region, is: 'reported', timedOut });
    }
    const [oldest] = this.#toRecord;
    const oldestMs = oldest === undefined ? 0 : rig.slotClock.now() - oldest.at;
    rig.backlog = { events: this.#toRecord.length, oldestMs };
    rig.isCaughtUp = oldest === undefined;
  }
}

function monitors(count: number, change: (id: number) => Partial<LiveMonitor> = () => ({})): LiveMonitor[] {
  return Array.from({ length: count }, (_, index) => liveMonitor(index + 1, change(index + 1)));
}

async function begin(declared: readonly LiveMonitor[], regions: readonly Region[] = [FRA]): Promise<World> {
  rig = memoryRig({ store, monitors: declared, tokens: ANY_TOKENS });
  await rig.dispatch.start();
  return new World(regions);
}

/** 200 checks a second in each of the regions. */
async function beginIn(regions: readonly Region[]): Promise<World> {
  return begin(
    monitors(6_000, () => ({ regions })),
    regions,
  );
}

/** A disk that records 150 results a second for so long, where more are asked for: 400 by default. */
async function beginBehindDisk(seconds: number, declared = monitors(12_000)): Promise<World> {
  const world = await begin(declared);
  world.records = 1_000;
  await world.run(45);
  world.records = 150;
  await world.run(seconds);
  return world;
}

/** An agent that was slow for a minute and is not any more: nothing is skipped since at most 6 s. */
async function beginAfterLimit(): Promise<World> {
  const world = await begin(monitors(6_000));
  await world.run(45);
  world.runs.set(FRA, 80);
  await world.run(60);
  world.runs.delete(FRA);
  await untilNothingIsSkipped(world, 6);
  return world;
}

/** Returns when nothing was skipped for so long. */
async function untilNothingIsSkipped(world: World, seconds: number): Promise<void> {
  for (let before = -1; before !== shed(); ) {
    before = shed();
    await world.run(seconds);
  }
}

/** How often each monitor was run, by id. */
function runsOf(opens: readonly { id: number }[]): Map<number, number> {
  const runs = new Map<number, number>();
  for (const { id } of opens) runs.set(id, (runs.get(id) ?? 0) + 1);
  return runs;
}

const shed = () => {
  const { 'predecessor-running': _, ...overloaded } = rig.dispatch.counters.jobsSkipped;
  return Object.values(overloaded).reduce((sum, jobs) => sum + jobs, 0);
};

describe('below capacity nothing is skipped', () => {
  test('by a burst of first slots', async () => {
    const world = await begin([]);
    world.records = 700;
    await world.run(2);
    for (const monitor of monitors(2_000, () => ({ periodMs: 600_000 }))) rig.monitors.set(monitor);
    await world.run(10);
    expect(rig.sink.opens).toHaveLength(2_000);
    expect(shed()).toBe(0);
  });

  test('by a disk that stands still for three seconds', async () => {
    const world = await begin(monitors(6_000));
    world.records = 1_000;
    await world.run(60);
    world.records = 0;
    await world.run(3);
    world.records = 1_000;
    await world.run(20);
    expect(shed()).toBe(0);
  });

  test('by an agent that hangs while another works, but for the moment until it is noticed', async () => {
    const world = await begin(monitors(6_000));
    await world.run(45);
    new TestAgent(rig.bus, FRA, 'hangs').answer = null;
    await world.run(60);
    expect(rig.dispatch.counters.jobsSkipped['recording-overloaded']).toBe(0);
  });
});

test('jobs given out ahead of a pause are no overload, however long agents have told that they hold them', async () => {
  const world = await begin(monitors(30_000));
  // Their heartbeats come right after the jobs.
  await world.run(69.8);
  rig.dispatch.openAhead(MOST_AHEAD_MS);
  await world.run(0.3);
  rig.clock.stall(400);
  await world.run(10);
  expect(shed()).toBe(0);
});

test('checks that wait behind those that time out are no overload, and none either when targets answer again', async () => {
  const world = await begin(monitors(6_000));
  await world.run(45);
  world.isSlow = (id) => id % 4 === 0;
  world.timesOut = true;
  await world.run(60);
  expect(shed()).toBe(0);
  world.timesOut = false;
  await world.run(28);
  expect(shed()).toBe(0);
});

describe('a region that is far away', () => {
  test.each([600, 900, 1_800])(
    'is given everything where the way there and back takes %i ms',
    async (tripMs) => {
      const world = await beginIn([FRA, PAR]);
      world.isFar(PAR, tripMs);
      await world.run(120);
      expect(shed()).toBe(0);
      const { offers } = rig.dispatch.counters;
      expect(offers.repeated).toBeLessThanOrEqual(2_000);
    },
  );
});

test('checks that time out and find no place any more take nothing from the others', async () => {
  const world = await begin(monitors(6_000));
  await world.run(45);
  world.isSlow = (id) => id % 4 === 0;
  world.timesOut = true;
  // Fifty a second are asked for.
  world.slowRuns = 10;
  await world.run(120);
  expect(shed()).toBe(0);
});

describe('beyond the capacity of the recording', () => {
  test('what can be recorded is, in time, and after it everything', async () => {
    // 400 jobs a second.
    const world = await begin(monitors(12_000));
    world.records = 1_000;
    await world.run(60);
    expect(shed()).toBe(0);
    world.records = 150;
    await world.run(30);
    const before = { opens: rig.sink.opens.length, missed: rig.dispatch.counters.slots.missed };
    let worstMs = 0;
    for (let second = 0; second < 60; second += 1) {
      await world.run(1);
      worstMs = Math.max(worstMs, rig.backlog.oldestMs);
    }
    expect(worstMs).toBeLessThanOrEqual(5_000);
    expect(rig.dispatch.inFlight).toBeLessThanOrEqual(1_000);
    expect((rig.sink.opens.length - before.opens) / 60).toBeGreaterThanOrEqual(130);
    expect(rig.dispatch.counters.slots.missed).toBe(before.missed);
    expect(rig.dispatch.counters.jobsSkipped['recording-overloaded']).toBeGreaterThan(10_000);
    expect(rig.dispatch.counters.overloads.recording).toBeGreaterThanOrEqual(1);
    expect(rig.sink.skips).toEqual([]);

    world.records = 1_000;
    await world.run(30);
    const since = shed();
    await world.run(30);
    expect(shed()).toBe(since);
  });

  test('after a standstill, what can be done is done about new slots, not about those that are late', async () => {
    const world = await beginBehindDisk(45);
    rig.clock.stall(6_000);
    await world.run(1);
    world.latenessMs.clear();
    await world.run(20);
    const late = (world.latenessMs.get(FRA) ?? []).toSorted((a, b) => a - b);
    expect(late.length / 20).toBeGreaterThanOrEqual(90);
    expect(late[Math.floor(late.length * 0.99)]).toBeLessThanOrEqual(150);
  });

  test('while the thread waits for a CPU, the limit hardly grows', async () => {
    const limitAfter = async (waitsPart: number) => {
      const world = await begin(monitors(12_000));
      world.records = 1_000;
      await world.run(45);
      world.records = 150;
      await world.run(45);
      world.records = 1_000;
      rig.cpuWaitedMs = 0;
      const stop = rig.clock.every(100, () => {
        rig.cpuWaitedMs = (rig.cpuWaitedMs ?? 0) + 100 * waitsPart;
      });
      await world.run(15);
      stop();
      const before = rig.sink.opens.length;
      await world.run(5);
      rig.dispatch.stop();
      return (rig.sink.opens.length - before) / 5;
    };
    const [free, pressed] = [await limitAfter(0.2), await limitAfter(0.6)];
    expect(free).toBeGreaterThanOrEqual(1.25 * pressed);
  });

  test('monitors lose alike, and a small workspace nothing', async () => {
    // The small one asks for less than half of what is admitted while a backlog is worked off.
    const world = await beginBehindDisk(
      10,
      monitors(11_000, (id) => ({ workspaceId: id % 14 === 0 ? 2 : 1 })),
    );
    rig.sink.opens.length = 0;
    const from = rig.slotClock.now();
    await world.run(300);
    // Those that were due ten times, whatever the edges of that time: slots are opened 400 ms ahead.
    const isTenTimes = (id: number) => {
      const sinceMs = gridSlotFrom(from, 30_000, phaseOf(id, 30_000)) - from;
      return sinceMs > 1_000 && sinceMs < 29_000;
    };
    const runs = runsOf(rig.sink.opens.filter(({ id }) => isTenTimes(id)));
    const small = [...runs].filter(([id]) => id % 14 === 0).map(([, count]) => count);
    const large = [...runs].filter(([id]) => id % 14 !== 0).map(([, count]) => count);
    expect(small.length).toBeGreaterThan(680);
    expect(new Set(small)).toEqual(new Set([10]));
    expect(large.length).toBeGreaterThan(8_500);
    expect(Math.max(...large) - Math.min(...large)).toBeLessThanOrEqual(3);
    const usual = large.filter((count) => count === 3 || count === 4);
    expect(usual.length / large.length).toBeGreaterThan(0.85);
  });
});

test('where somewhat more than a third can be recorded, few votes age before the next slot of their monitor', async () => {
  const world = await beginBehindDisk(60);
  rig.sink.opens.length = 0;
  await world.run(300);
  const gaps: number[] = [];
  for (const slots of Map.groupBy(rig.sink.opens, ({ id }) => id).values()) {
    for (const [index, { slot }] of slots.slice(1).entries())
      gaps.push(Math.round((slot - (slots[index]?.slot ?? 0)) / 30_000));
  }
  expect(rig.sink.opens.length / 300).toBeGreaterThanOrEqual(140);
  // Votes age after three periods.
  expect(gaps.filter((gap) => gap > 3).length / gaps.length).toBeLessThanOrEqual(0.16);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(6);
});

test('hourly monitors that are declared while a limit holds are checked soon, not an hour later', async () => {
  const world = await beginBehindDisk(60);
  rig.sink.opens.length = 0;
  const hourly = Array.from({ length: 50 }, (_, index) =>
    liveMonitor(20_001 + index, { periodMs: 3_600_000 }),
  );
  for (const monitor of hourly) rig.monitors.set(monitor);
  await world.run(150);
  const runs = runsOf(rig.sink.opens.filter(({ id }) => id > 20_000));
  expect(runs.size).toBe(hourly.length);
  // Those that come once more are due on their grid.
  expect([...runs.values()].filter((count) => count > 1).length).toBeLessThanOrEqual(5);
});

test('hourly monitors whose first slot one region skips are checked there soon, and once in the others', async () => {
  // 200 checks a second in each.
  const world = await begin(
    monitors(6_000, () => ({ regions: [FRA, PAR] })),
    [FRA, PAR],
  );
  await world.run(45);
  world.runs.set(PAR, 80);
  await world.run(60);
  rig.sink.opens.length = 0;
  rig.sink.skips.length = 0;
  const hourly = Array.from({ length: 100 }, (_, index) =>
    liveMonitor(20_001 + index, { periodMs: 3_600_000, regions: [FRA, PAR] }),
  );
  for (const monitor of hourly) rig.monitors.set(monitor);
  await world.run(200);
  const skipped = new Set(
    rig.sink.skips.filter(({ id }) => id > 20_000).map(({ id, slot, region }) => `${id} ${slot} ${region}`),
  );
  expect(skipped.size).toBeGreaterThan(20);
  // What was dropped is given again as well.
  for (const { id, slot, region } of world.dropped) skipped.add(`${id} ${slot} ${region}`);
  const given = rig.sink.opens
    .filter(({ id }) => id > 20_000)
    .flatMap(({ id, slot, regions }) => regions.map((region) => ({ id, slot, region })))
    .filter(({ id, slot, region }) => !skipped.has(`${id} ${slot} ${region}`));
  const runsIn = (region: Region) => runsOf(given.filter((each) => each.region === region));
  for (const region of [FRA, PAR]) {
    expect(runsIn(region).size).toBe(hourly.length);
    // Those that come once more are due on their grid.
    expect([...runsIn(region).values()].filter((count) => count > 1).length).toBeLessThanOrEqual(10);
  }
});

test('a region that is overloaded alone skips its own checks only', async () => {
  const world = await beginIn([FRA, PAR]);
  await world.run(45);
  world.runs.set(PAR, 80);
  await world.run(60);
  expect(rig.dispatch.counters.jobsSkipped['region-overloaded']).toBeGreaterThan(3_000);
  expect(rig.dispatch.counters).toMatchObject({
    jobsSkipped: { 'recording-overloaded': 0, 'scheduling-overloaded': 0, 'lateness-overloaded': 0 },
  });
  const overloaded = rig.sink.skips.filter(({ reason }) => reason === 'overloaded');
  expect(overloaded.length).toBe(rig.dispatch.counters.jobsSkipped['region-overloaded']);
  expect(new Set(overloaded.map(({ region }) => region))).toEqual(new Set([PAR]));
  const before = world.agents.get(FRA)?.offered ?? 0;
  await world.run(30);
  expect(world.agents.get(FRA)?.offered).toBeGreaterThanOrEqual(before + 5_900);

  world.runs.delete(PAR);
  await world.run(30);
  const since = shed();
  await world.run(30);
  expect(shed()).toBe(since);
});

test('where all regions are overloaded, slots are skipped whole: what runs is seen by all regions together', async () => {
  const regions: readonly Region[] = [FRA, PAR, EAST];
  const world = await beginIn(regions);
  await world.run(45);
  for (const region of regions) world.runs.set(region, 40);
  await world.run(90);
  const skipped = rig.sink.skips.length;
  rig.sink.opens.length = 0;
  await world.run(150);
  // Of failures in different slots a majority makes no error where passes have aged between them.
  expect(rig.sink.opens.length).toBeGreaterThanOrEqual(150 * 30);
  expect(rig.sink.skips.length - skipped).toBeLessThanOrEqual(0.05 * rig.sink.opens.length);
});

test.each([40, 60, 100])(
  'of two overloaded regions, one that does 40 a second runs its slots together with one that does %i',
  async (perSecond) => {
    // 180 checks a second in each of two regions. A third one is in time, so each is limited by itself.
    const world = await begin(
      monitors(6_000, (id) => ({ regions: id % 10 === 0 ? [EAST] : [FRA, PAR] })),
      [FRA, PAR, EAST],
    );
    await world.run(45);
    world.runs.set(FRA, 40);
    world.runs.set(PAR, perSecond);
    await world.run(90);
    rig.sink.opens.length = 0;
    rig.sink.skips.length = 0;
    await world.run(300);
    expect(rig.dispatch.counters.jobsSkipped['lateness-overloaded']).toBe(0);
    const skipsOf = (region: Region) =>
      new Set(rig.sink.skips.filter((skip) => skip.region === region).map(({ id, slot }) => `${id} ${slot}`));
    const [ofFra, ofPar] = [skipsOf(FRA), skipsOf(PAR)];
    const inFra = rig.sink.opens
      .filter(({ id }) => id % 10 !== 0)
      .map(({ id, slot }) => `${id} ${slot}`)
      .filter((key) => !ofFra.has(key));
    const together = inFra.filter((key) => !ofPar.has(key)).length;
    expect(inFra.length / 300).toBeGreaterThanOrEqual(0.85 * 40);
    expect(together / inFra.length).toBeGreaterThanOrEqual(0.85);
  },
);

test('a region whose agents begin nothing takes nothing from the others, and is alarmed about', async () => {
  const world = await beginIn([FRA, PAR]);
  await world.run(45);
  world.runs.set(PAR, 0);
  await world.run(30);
  expect(rig.dispatch.counters.overloads.region).toBeGreaterThanOrEqual(1);
  const before = world.latenessMs.get(FRA)?.length ?? 0;
  await world.run(60);
  expect((world.latenessMs.get(FRA)?.length ?? 0) - before).toBeGreaterThanOrEqual(60 * 199);
  expect(rig.dispatch.counters).toMatchObject({
    jobsSkipped: { 'recording-overloaded': 0, 'scheduling-overloaded': 0, 'lateness-overloaded': 0 },
  });
});

describe('where agents run less than is asked of them', () => {
  test.each([
    { name: 'all regions', slow: [FRA, PAR], mostMs: 550 },
    { name: 'one of two regions', slow: [PAR], mostMs: 550 },
    { name: 'a region 600 ms away', slow: [PAR], mostMs: 700, tripMs: 600 },
  ])(
    'in $name, what runs is in time, and most of what they can do is done',
    async ({ slow, mostMs, tripMs = 0 }) => {
      const world = await beginIn([FRA, PAR]);
      if (tripMs > 0) world.isFar(PAR, tripMs);
      await world.run(45);
      for (const region of slow) world.runs.set(region, 80);
      await world.run(60);
      world.latenessMs.clear();
      await world.run(60);
      for (const region of [FRA, PAR]) {
        const late = (world.latenessMs.get(region) ?? []).toSorted((a, b) => a - b);
        expect(late.length / 60).toBeGreaterThanOrEqual(slow.includes(region) ? 0.85 * 80 : 199);
        expect(late[Math.floor(late.length * 0.99)]).toBeLessThanOrEqual(
          slow.includes(region) ? mostMs : 100,
        );
        // What waits longer at the agents of a limited region does not begin.
        const startWithinMs = world.agents.get(region)?.startWithinMs ?? 0;
        expect(startWithinMs <= mostMs).toBe(slow.includes(region));
      }
    },
  );

  test('the more they run in a second, the sooner what runs begins', async () => {
    // 1,000 checks a second.
    const world = await begin(monitors(30_000));
    (world.agents.get(FRA) as TestAgent).capacity = 2_000;
    await world.run(45);
    world.runs.set(FRA, 400);
    await world.run(60);
    world.latenessMs.clear();
    await world.run(60);
    const late = (world.latenessMs.get(FRA) ?? []).toSorted((a, b) => a - b);
    expect(late.length / 60).toBeGreaterThanOrEqual(0.9 * 400);
    expect(late[Math.floor(late.length * 0.99)]).toBeLessThanOrEqual(350);
  });

  describe('a thousand in a second', () => {
    /** Agents that run 1,000 of 1,334 checks a second. */
    async function beginFast(): Promise<World> {
      const world = await begin(monitors(40_000));
      (world.agents.get(FRA) as TestAgent).capacity = 4_000;
      await world.run(40);
      world.runs.set(FRA, 1_000);
      await world.run(40);
      return world;
    }

    test('what runs begins within 150 ms, or 200 where it was dropped before, and most of what they can do is done', async () => {
      const world = await beginFast();
      world.latenessMs.clear();
      await world.run(60);
      const late = (world.latenessMs.get(FRA) ?? []).toSorted((a, b) => a - b);
      expect(late.length / 60).toBeGreaterThanOrEqual(0.85 * 1_000);
      expect(late[Math.floor(late.length * 0.98)]).toBeLessThanOrEqual(150);
      expect(late[Math.floor(late.length * 0.99)]).toBeLessThanOrEqual(200);
    });

    test('no check is dropped twice in a row, and a monitor whose check was dropped has precedence', async () => {
      const world = await beginFast();
      world.dropped.length = 0;
      rig.sink.opens.length = 0;
      for (let round = 0; round < 30; round += 1) {
        // At the same slots of each period.
        world.still.add(FRA);
        await world.run(0.3);
        world.still.delete(FRA);
        await world.run(2.7);
      }
      const opens = new Map<number, number[]>();
      for (const { id, slot } of rig.sink.opens) opens.set(id, [...(opens.get(id) ?? []), slot]);
      const isDropped = new Set(world.dropped.map(({ id, slot }) => `${id} ${slot}`));
      const next = world.dropped.map(({ id, slot }) => ({
        id,
        slot,
        after: opens.get(id)?.find((each) => each > slot),
      }));
      expect(world.dropped.length).toBeGreaterThan(1_000);
      expect(next.filter(({ id, after }) => after !== undefined && isDropped.has(`${id} ${after}`))).toEqual(
        [],
      );
      const until = Math.max(...rig.sink.opens.map(({ slot }) => slot));
      const judged = next.filter(({ slot }) => slot + 30_000 < until);
      const atOnce = judged.filter(({ slot, after }) => after === slot + 30_000);
      expect(atOnce.length / judged.length).toBeGreaterThanOrEqual(0.9);
    });
  });

  test('too much again just after the limit has ended is limited at once', async () => {
    const world = await beginAfterLimit();
    const before = shed();
    world.runs.set(FRA, 20);
    await world.run(2.5);
    expect(shed()).toBeGreaterThan(before);
  });

  test('one that is slow for two seconds loses no slot', async () => {
    const world = await begin(monitors(6_000));
    await world.run(45);
    world.runs.set(FRA, 0);
    await world.run(2);
    world.runs.delete(FRA);
    await world.run(30);
    expect(shed()).toBe(0);
  });

  test('one that stands still and comes back is given everything within seconds', async () => {
    const world = await begin(monitors(6_000));
    await world.run(45);
    const agent = world.agents.get(FRA) as TestAgent;
    agent.answer = null;
    world.still.add(FRA);
    await world.run(3);
    world.still.delete(FRA);
    agent.beat();
    await world.run(20);
    const since = shed();
    await world.run(30);
    expect(shed()).toBe(since);
    expect(since).toBeLessThanOrEqual(7.5 * 200);
  });

  test('the only monitor of a workspace keeps its slots beside ten thousand of another', async () => {
    const world = await begin(monitors(10_001, (id) => ({ workspaceId: id === 1 ? 2 : 1 })));
    await world.run(45);
    world.runs.set(FRA, 80);
    await world.run(60);
    rig.sink.opens.length = 0;
    await world.run(150);
    expect(runsOf(rig.sink.opens).get(1)).toBe(5);
  });
});

test('a thread that comes late to most of its ticks skips checks', async () => {
  const world = await begin(monitors(6_000));
  await world.run(45);
  for (let tick = 0; tick < 40; tick += 1) {
    rig.clock.stall(200);
    await rig.clock.advanceSettling(1);
  }
  await world.run(2);
  expect(rig.dispatch.counters.jobsSkipped['scheduling-overloaded']).toBeGreaterThan(0);
});

describe('when a limit has ended', () => {
  test('a pause of two seconds loses no more slots than it lasted', async () => {
    const world = await beginAfterLimit();
    const before = shed();
    rig.clock.stall(2_000);
    await world.run(40);
    expect(shed() - before).toBeLessThanOrEqual(2 * 200);
  });

  test('what agents drop as it was told under the limit is no overload', async () => {
    const world = await beginAfterLimit();
    const agent = world.agents.get(FRA) as TestAgent;
    for (let tick = 0; tick < 600 && agent.startWithinMs < 1_000; tick += 1) await world.run(0.05);
    expect(agent.startWithinMs).toBeGreaterThan(1_000);
    const before = { dropped: world.dropped.length, shed: shed() };
    world.still.add(FRA);
    await world.run(0.6);
    world.still.delete(FRA);
    await world.run(20);
    expect(world.dropped.length).toBeGreaterThan(before.dropped + 10);
    expect(rig.dispatch.counters.overloads.region).toBe(0);
    // The end of the limit is watched, so that checks which begin late are one sign.
    expect(shed() - before.shed).toBeLessThanOrEqual(200);
  });
});

test('a limit above what is asked, while the thread waits for a CPU, drops no check', async () => {
  const world = await begin(monitors(6_000));
  await world.run(45);
  world.runs.set(FRA, 80);
  await world.run(30);
  world.runs.delete(FRA);
  rig.cpuWaitedMs = 0;
  rig.clock.every(100, () => {
    rig.cpuWaitedMs = (rig.cpuWaitedMs ?? 0) + 45;
  });
  await untilNothingIsSkipped(world, 30);
  expect(world.agents.get(FRA)?.startWithinMs).toBeGreaterThan(1_000);
});

test.each([
  { count: 6_000, slow: 80 },
  { count: 30_000, slow: 400 },
])(
  'where the agent of $count monitors stands still for 0.45 s every 5 s beside a neighbour, a limit ends',
  async ({ count, slow }) => {
    const world = await begin(monitors(count));
    (world.agents.get(FRA) as TestAgent).capacity = 4_000;
    await world.run(45);
    world.runs.set(FRA, slow);
    await world.run(30);
    world.runs.delete(FRA);
    rig.cpuWaitedMs = 0;
    rig.clock.every(100, () => {
      rig.cpuWaitedMs = (rig.cpuWaitedMs ?? 0) + 45;
    });
    const runFor = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        world.still.add(FRA);
        await world.run(0.45);
        world.still.delete(FRA);
        await world.run(4.55);
      }
    };
    await runFor(120);
    const before = shed();
    await runFor(60);
    expect(shed() - before).toBeLessThanOrEqual(0.02 * 2 * count);
  },
);

test('jobs of a region that has lost its last agent under a limit are offered with a bound', async () => {
  const world = await beginBehindDisk(20);
  const agent = world.agents.get(FRA) as TestAgent;
  world.still.add(FRA);
  agent.answer = null;
  agent.startWithinMsOf.clear();
  await world.run(15);
  const bounds = [...agent.startWithinMsOf.values()];
  expect(bounds.length).toBeGreaterThan(0);
  expect(bounds.filter((ms) => !Number.isSafeInteger(ms))).toEqual([]);
});

test('usual monitors lose a tenth at most beside the first slots of many hourly ones, which get what they leave', async () => {
  const world = await beginBehindDisk(60);
  rig.sink.opens.length = 0;
  for (let id = 20_001; id <= 50_000; id += 1) rig.monitors.set(liveMonitor(id, { periodMs: 3_600_000 }));
  await world.run(180);
  const firsts = rig.sink.opens.filter(({ id }) => id > 20_000).length;
  expect((rig.sink.opens.length - firsts) / 180).toBeGreaterThanOrEqual(0.8 * 150);
  expect(firsts / 180).toBeGreaterThanOrEqual(0.1 * 150);
  // 350 of 408 a second can be recorded now.
  world.records = 350;
  await world.run(60);
  rig.sink.opens.length = 0;
  await world.run(60);
  expect(rig.sink.opens.length / 60).toBeGreaterThanOrEqual(0.95 * 350);
  expect(rig.sink.opens.filter(({ id }) => id <= 20_000).length / 60).toBeGreaterThanOrEqual(0.8 * 350);
});

test('first slots of many hourly monitors take no more than the share of their workspace', async () => {
  const world = await beginBehindDisk(60);
  // Eight a second are declared.
  for (let id = 20_001; id <= 50_000; id += 1)
    rig.monitors.set(liveMonitor(id, { periodMs: 3_600_000, workspaceId: 2 }));
  await world.run(60);
  expect(rig.backlog.oldestMs).toBeLessThanOrEqual(5_000);
  rig.sink.opens.length = 0;
  await world.run(30);
  const before = rig.sink.opens.filter(({ id }) => id <= 20_000).length;
  expect(before / 30).toBeGreaterThanOrEqual(0.4 * 150);
});

test.each([
  { period: 'hourly', periodMs: 3_600_000 },
  { period: 'daily', periodMs: 86_400_000 },
])(
  '20,000 $period monitors that are declared at once are all checked, as fast as agents can, and most in time',
  async ({ periodMs }) => {
    const world = await begin([]);
    world.runs.set(FRA, 200);
    await world.run(2);
    for (const monitor of monitors(20_000, () => ({ periodMs }))) rig.monitors.set(monitor);
    // Five hundred a second come until the limit begins.
    await world.run(15);
    const before = world.latenessMs.get(FRA)?.length ?? 0;
    await world.run(225);
    const late = (world.latenessMs.get(FRA) ?? []).slice(before).toSorted((a, b) => a - b);
    expect(late.length).toBeGreaterThanOrEqual(14_000);
    const isDropped = new Set(world.dropped.map(({ id, slot }) => `${id} ${slot}`));
    const ran = new Set(
      rig.sink.opens.filter(({ id, slot }) => !isDropped.has(`${id} ${slot}`)).map(({ id }) => id),
    );
    expect(isDropped.size).toBeGreaterThan(500);
    expect(ran.size).toBe(20_000);
    expect(late[Math.floor(late.length * 0.9)]).toBeLessThanOrEqual(500);
  },
);
