import { MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import { agentsSubject } from '@svc/shared/messages/subjects.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FRA, PAR } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { FakeClock, settle } from '../../../../test/support/fake-clock.ts';
import { MemoryBus } from '../../../../test/support/memory-bus.ts';
import { newCounters } from './counters.ts';
import { RegionEars } from './region-ears.ts';

const LARGEST = 'x'.repeat(MAX_AGENT_MESSAGE_BYTES);
/** More than is read at once. */
const FLOOD = 30;

let clock: FakeClock;
let bus: MemoryBus;
let ears: RegionEars;
let counters: ReturnType<typeof newCounters>;
/** Regions of the messages that were handled, in their order. */
let heard: Region[];
let opened: Region[];
let lines: { msg: string; region?: Region; seconds?: number }[];

beforeEach(() => {
  clock = new FakeClock();
  bus = new MemoryBus();
  bus.remembers = false;
  counters = newCounters();
  heard = [];
  opened = [];
  lines = [];
  ears = new RegionEars({
    bus,
    clock,
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    counters,
    onMessage: (region) => void heard.push(region),
    onHearing: (region) => void opened.push(region),
  });
});
afterEach(() => ears.close());

const say = (region: Region, text = 'x') => bus.publish(agentsSubject(region), text);

async function flood(region: Region): Promise<void> {
  for (let count = 0; count < FLOOD; count += 1) say(region, LARGEST);
  await settle();
}

/** Until everything that was said is handled, and ears that are due have opened. */
async function allHandled(): Promise<void> {
  for (let turn = 0; turn < FLOOD; turn += 1) await settle();
}

test('each region is heard over a connection of its own', async () => {
  await ears.open();
  expect(bus.apart).toEqual(REGIONS.map(agentsSubject));
  expect(opened).toEqual(REGIONS);
  for (const region of REGIONS) say(region);
  await settle();
  expect(heard).toEqual(REGIONS);
});

describe('what one region says', () => {
  test('is handled at once, up to what a turn of the event loop may cost', async () => {
    await ears.open();
    for (let count = 0; count < 3; count += 1) say(FRA, LARGEST);
    for (let count = 0; count < 3; count += 1) say(PAR);
    await Promise.resolve();
    expect(heard).toEqual([FRA, PAR, PAR, PAR]);
    await settle();
    expect(heard).toEqual([FRA, PAR, PAR, PAR, FRA]);
    await settle();
    expect(heard).toEqual([FRA, PAR, PAR, PAR, FRA, FRA]);
  });

  test('has caught up when what waits is handled', async () => {
    await ears.open();
    for (let count = 0; count < 5; count += 1) say(FRA, LARGEST);
    expect(await ears.caughtUp(FRA)).toBe(true);
    expect(heard).toHaveLength(5);
  });
});

describe('a region that says more than is read', () => {
  test('is muted, and the others are heard', async () => {
    await ears.open();
    await flood(FRA);
    expect(ears.muted).toEqual([FRA]);
    expect(bus.apart).not.toContain(agentsSubject(FRA));
    expect(counters.regionMutings).toBe(1);
    expect(lines).toMatchObject([{ level: 50, region: FRA, seconds: 10 }]);
    // Of what it said, what waited is dropped: the muted have no claim on the thread.
    const before = heard.length;
    say(FRA);
    say(PAR);
    await allHandled();
    expect(heard.slice(before)).toEqual([PAR]);
  });

  test('is muted by many small messages as well', async () => {
    await ears.open();
    for (let count = 0; count < 5_000; count += 1) say(FRA);
    await settle();
    expect(ears.muted).toEqual([FRA]);
  });

  test('counts as silent meanwhile', async () => {
    await ears.open();
    await flood(FRA);
    expect(await ears.caughtUp(FRA)).toBe(true);
  });

  test('is heard again after a wait, which grows while it goes on', async () => {
    await ears.open();
    const seconds = [10, 20, 40, 80, 160, 320, 600, 600];
    for (const wait of seconds) {
      await flood(FRA);
      expect(ears.muted).toEqual([FRA]);
      await clock.advanceSettling(wait * 1_000 - 1);
      expect(ears.muted).toEqual([FRA]);
      await clock.advanceSettling(1);
      expect(ears.muted).toEqual([]);
    }
    expect(lines.filter(({ msg }) => msg === 'a region is heard again')).toHaveLength(seconds.length);
    bus.cutOff(agentsSubject(FRA));
    await clock.advanceSettling(1_100);
    expect(lines.filter(({ msg }) => msg === 'a region is heard again')).toHaveLength(seconds.length);
    expect(lines.flatMap((line) => line.seconds ?? [])).toEqual(seconds);
    const before = heard.length;
    say(FRA);
    await allHandled();
    expect(heard.slice(before)).toEqual([FRA]);
    expect(opened.filter((region) => region === FRA)).toHaveLength(2 + seconds.length);
  });

  test('begins with the shortest wait again after ten minutes of calm', async () => {
    await ears.open();
    await flood(FRA);
    await clock.advanceSettling(10_000);
    await flood(FRA);
    await clock.advanceSettling(20_000 + 10 * 60_000);
    await flood(FRA);
    expect(lines.flatMap((line) => line.seconds ?? [])).toEqual([10, 20, 10]);
  });
});

describe('what honest agents say mutes no region', () => {
  test('twenty that hold all they may, who all speak at once after an outage', async () => {
    const full = 'x'.repeat(500_000);
    await ears.open();
    for (let agent = 0; agent < 20; agent += 1) say(FRA, full);
    for (let second = 0; second < 60; second += 1) {
      await clock.advanceSettling(1_000);
      for (let agent = 0; agent < 10; agent += 1) say(FRA, full);
      for (let batch = 0; batch < 20; batch += 1) say(FRA, 'x'.repeat(12_000));
    }
    await allHandled();
    expect(counters.regionMutings).toBe(0);
  });

  test('a thousand, each with 100 jobs, who all speak three times after an outage', async () => {
    const usual = 'x'.repeat(2_900);
    await ears.open();
    for (let time = 0; time < 20; time += 1) {
      const speakers = time < 3 ? 1_000 : 250;
      for (let agent = 0; agent < speakers; agent += 1) say(FRA, usual);
      await clock.advanceSettling(500);
    }
    expect(counters.regionMutings).toBe(0);
  });
});

describe('what was said while this process stood still', () => {
  test('mutes no region', async () => {
    await ears.open();
    // 400 agents beat every 2 s, and take jobs.
    for (let count = 0; count < 6_000; count += 1) say(FRA, 'x'.repeat(400));
    clock.stall(20_000);
    await allHandled();
    expect(ears.muted).toEqual([]);
  });

  test('is no more than may be said in that time', async () => {
    await ears.open();
    for (let count = 0; count < 6_000; count += 1) say(FRA);
    clock.stall(1_200);
    await allHandled();
    expect(ears.muted).toEqual([FRA]);
  });
});

describe('a connection that is lost', () => {
  test('for long while the bus holds is told once', async () => {
    await ears.open();
    bus.refusesApart = true;
    bus.cutOff(agentsSubject(FRA));
    await clock.advanceSettling(9_000);
    expect(lines).toEqual([]);
    await clock.advanceSettling(10_000);
    expect(lines).toMatchObject([{ level: 40, region: FRA }]);
    bus.refusesApart = false;
    await clock.advanceSettling(2_000);
    expect(await ears.caughtUp(FRA)).toBe(true);
    expect(lines).toHaveLength(1);
  });

  test('is made again, and tells no other region', async () => {
    await ears.open();
    bus.cutOff(agentsSubject(FRA));
    say(FRA);
    say(PAR);
    await settle();
    expect(heard).toEqual([PAR]);
    await clock.advanceSettling(1_100);
    say(FRA);
    await settle();
    expect(heard).toEqual([PAR, FRA]);
    expect(opened.filter((region) => region === FRA)).toHaveLength(2);
  });

  test('proves no silence for ten seconds, then it does', async () => {
    await ears.open();
    bus.refusesApart = true;
    bus.cutOff(agentsSubject(FRA));
    await clock.advanceSettling(9_999);
    expect(await ears.caughtUp(FRA)).toBe(false);
    expect(await ears.caughtUp(PAR)).toBe(true);
    await clock.advanceSettling(1);
    expect(await ears.caughtUp(FRA)).toBe(true);
  });

  test('again and again, while the others hold, counts as too much', async () => {
    await ears.open();
    for (let time = 0; time < 20 && ears.muted.length === 0; time += 1) {
      bus.cutOff(agentsSubject(FRA));
      await clock.advanceSettling(1_100);
    }
    expect(ears.muted).toEqual([FRA]);
  });

  test('with the bus comes back with it, and is not counted', async () => {
    await ears.open();
    for (let time = 0; time < 20; time += 1) {
      bus.setConnected(false);
      await clock.advanceSettling(5_000);
      expect(bus.apart).toEqual([]);
      bus.setConnected(true);
      await clock.advanceSettling(600);
      expect(bus.apart).toHaveLength(REGIONS.length);
    }
    expect(counters.regionMutings).toBe(0);
  });

  test('before the bus, as a server ends them in any order, is not counted', async () => {
    await ears.open();
    for (let time = 0; time < 20; time += 1) {
      bus.cutOff(agentsSubject(FRA));
      bus.setConnected(false);
      await clock.advanceSettling(200);
      bus.setConnected(true);
      await clock.advanceSettling(600);
      expect(bus.apart).toHaveLength(REGIONS.length);
    }
    expect(counters.regionMutings).toBe(0);
  });

  test('that answers nothing is not waited for', async () => {
    await ears.open();
    bus.freeze();
    const caughtUp = ears.caughtUp(FRA);
    await clock.advanceSettling(1_000);
    expect(await caughtUp).toBe(false);
    bus.thaw();
  });
});

test('what was closed while it connected does not stay open', async () => {
  const opening = ears.open();
  await ears.close();
  await opening;
  expect(bus.apart).toEqual([]);
  expect(opened).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});
