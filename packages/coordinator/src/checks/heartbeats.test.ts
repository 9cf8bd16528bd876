import { MAX_KEPT_HEARTBEATS } from '@svc/shared/messages/heartbeat.ts';
import { heartbeatSubject } from '@svc/shared/messages/subjects.ts';
import { DISPATCH_COUNTERS, type DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FRA, PAR } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { MemoryBus } from '../../../../test/support/memory-bus.ts';
import { HeartbeatReaders } from './heartbeats.ts';

let clock: FakeClock;
let bus: MemoryBus;
let counters: DispatchCounters;
let readers: HeartbeatReaders;
let heard: [region: Region, agent: string][];
let begun: Region[];
/** Number of promises that the handler returned and that are pending. */
let pauses: number;

beforeEach(() => {
  clock = new FakeClock();
  bus = new MemoryBus();
  counters = createTotals(DISPATCH_COUNTERS);
  heard = [];
  begun = [];
  pauses = 0;
  readers = new HeartbeatReaders({
    regions: REGIONS,
    bus: {
      get isConnected() {
        return bus.isConnected;
      },
      readHeartbeats: (region, handler, onEnd, isAnew) =>
        bus.readHeartbeats(
          region,
          (message) => {
            const handled = handler(message);
            if (handled === undefined) return;
            pauses += 1;
            return handled.then(() => {
              pauses -= 1;
            });
          },
          onEnd,
          isAnew,
        ),
    },
    clock,
    log: pino({ level: 'silent' }),
    counters,
    onHeartbeat: (region, { agent }) => void heard.push([region, agent]),
    onReading: (region) => void begun.push(region),
  });
});
afterEach(() => readers.close());

function beat(region: Region, agent: string): void {
  const facts = { v: 1, kind: 'heartbeat', version: '1', capacity: 1, running: 0, held: 0, loop_delay_ms: 0 };
  const text = JSON.stringify({ ...facts, agent, boot: agent, clock: 0, started_at: 0, draining: false });
  bus.publish(heartbeatSubject(region, agent), text);
}

test('each region is read, and begins to be read again when its reading has ended', async () => {
  await readers.open();
  expect(begun).toEqual(REGIONS);
  expect(await readers.isGapless(FRA)).toBe(true);
  beat(FRA, 'one');
  beat(PAR, 'two');
  await clock.advanceSettling(0);
  expect(heard).toEqual([
    [FRA, 'one'],
    [PAR, 'two'],
  ]);
  bus.setConnected(false);
  await clock.advanceSettling(0);
  expect(await readers.isGapless(FRA)).toBe(false);
  await clock.advanceSettling(2_000);
  expect(begun).toHaveLength(REGIONS.length);
  bus.setConnected(true);
  await clock.advanceSettling(500);
  expect(begun).toHaveLength(2 * REGIONS.length);
  expect(await readers.isGapless(FRA)).toBe(true);
});

test('a reading whose stream has another leader has a gap, and another reading begins', async () => {
  await readers.open();
  bus.leader = 2;
  expect(await readers.isGapless(FRA)).toBe(false);
  await clock.advanceSettling(0);
  expect(await readers.isGapless(FRA)).toBe(false);
  await clock.advanceSettling(500);
  expect(begun.slice(REGIONS.length)).toEqual([FRA]);
  expect(await readers.isGapless(FRA)).toBe(true);
});

test('attempts that fail become rarer, but not without a connection, and then renew the stream', async () => {
  const attempts: number[] = [];
  const renewals: number[] = [];
  let isConnected = true;
  const failing = new HeartbeatReaders({
    regions: [FRA],
    bus: {
      get isConnected() {
        return isConnected;
      },
      readHeartbeats: (_region, _handler, _onEnd, isAnew) => {
        attempts.push(clock.monotonic());
        if (isAnew) renewals.push(clock.monotonic());
        return Promise.reject(new Error('no leader'));
      },
    },
    clock,
    log: pino({ level: 'silent' }),
    counters,
    onHeartbeat: () => {},
    onReading: () => {},
  });
  const from = clock.monotonic();
  await failing.open();
  for (let time = 0; time < 160; time += 1) await clock.advanceSettling(100);
  expect(attempts.map((at) => at - from)).toEqual([0, 500, 1_500, 3_500, 7_500, 11_500, 15_500]);
  expect(renewals).toEqual(attempts.slice(-1));
  isConnected = false;
  attempts.length = 0;
  for (let time = 0; time < 80; time += 1) await clock.advanceSettling(100);
  expect(attempts).toHaveLength(10);
  expect(renewals).toHaveLength(1);
  await failing.close();
});

test('a stream that is renewed is made anew once', async () => {
  await readers.open();
  readers.renewStream(FRA);
  await clock.advanceSettling(500);
  bus.setConnected(false);
  await clock.advanceSettling(0);
  bus.setConnected(true);
  await clock.advanceSettling(500);
  expect(begun).toHaveLength(2 * REGIONS.length + 1);
  expect(bus.madeAnew).toEqual([FRA]);
});

test('without a connection the start does not wait for one', async () => {
  bus.setConnected(false);
  await readers.open();
  expect(begun).toEqual([]);
  expect(await readers.isGapless(FRA)).toBe(false);
});

test('no more heartbeats of a region are read in 2 s than NATS keeps, and other regions are read meanwhile', async () => {
  await readers.open();
  for (let agent = 1; agent < MAX_KEPT_HEARTBEATS; agent += 1) beat(FRA, `agent-${agent}`);
  await clock.advanceSettling(0);
  expect(pauses).toBe(0);
  beat(FRA, 'one-more');
  beat(PAR, 'other');
  await clock.advanceSettling(1_900);
  expect(heard.at(-1)).toEqual([PAR, 'other']);
  expect(pauses).toBe(1);
  await clock.advanceSettling(100);
  expect(pauses).toBe(0);
  beat(FRA, 'later');
  await clock.advanceSettling(0);
  expect(heard.at(-1)).toEqual([FRA, 'later']);
  expect(pauses).toBe(0);
});

test('a message that is no heartbeat is dropped and counted', async () => {
  await readers.open();
  for (const text of ['', '{', 'null', '{"v":1,"kind":"heartbeat"}'])
    bus.publish(heartbeatSubject(FRA, 'x'), text);
  await clock.advanceSettling(0);
  expect(heard).toEqual([]);
  expect(counters.messagesDropped).toBe(4);
});
