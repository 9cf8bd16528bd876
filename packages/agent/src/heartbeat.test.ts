import { heartbeatSubject } from '@svc/shared/messages/subjects.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryBus } from '../../../test/support/memory-bus.ts';
import { Heartbeats } from './heartbeat.ts';

const REGION = 'office-berln';

let clock: FakeClock;
let bus: MemoryBus;
let warnings: { region: string; msg: string }[];
let heartbeats: Heartbeats;

beforeEach(() => {
  clock = new FakeClock();
  bus = new MemoryBus();
  warnings = [];
  heartbeats = new Heartbeats({
    bus,
    region: REGION,
    agentId: 'agent-1',
    bootId: 'boot-1',
    version: '1.2.3',
    capacity: 1,
    clock,
    log: pino({ level: 'warn' }, { write: (line: string) => warnings.push(JSON.parse(line)) }),
    state: () => ({
      running: 0,
      held: 0,
      begun: 0,
      late: 0,
      behind: 0,
      loopDelayMs: 0,
      isDraining: false,
      sicknesses: [],
      disownedBatches: 0,
    }),
  });
});
afterEach(() => heartbeats.stop());

test('an agent whose heartbeats NATS does not store warns once, a minute later', async () => {
  heartbeats.start();
  await clock.advanceSettling(59_000);
  expect(warnings).toEqual([]);
  await clock.advanceSettling(300_000);
  expect(warnings).toEqual([
    expect.objectContaining({ region: REGION, msg: expect.stringContaining('SVC_REGION') }),
  ]);
});

test('nothing is logged while the servers of a cluster choose a leader, or while NATS is away', async () => {
  const stored = bus.subscribe(heartbeatSubject(REGION, '*'), () => {});
  heartbeats.start();
  await clock.advanceSettling(60_000);
  stored.close();
  await clock.advanceSettling(40_000);
  bus.setConnected(false);
  await clock.advanceSettling(60_000);
  bus.setConnected(true);
  await clock.advanceSettling(40_000);
  const storedAgain = bus.subscribe(heartbeatSubject(REGION, '*'), () => {});
  await clock.advanceSettling(3_000);
  storedAgain.close();
  await clock.advanceSettling(40_000);
  expect(warnings).toEqual([]);
});

test('the agent warns again when a stream of heartbeats that NATS had is gone', async () => {
  heartbeats.start();
  await clock.advanceSettling(70_000);
  const stored = bus.subscribe(heartbeatSubject(REGION, '*'), () => {});
  await clock.advanceSettling(10_000);
  stored.close();
  await clock.advanceSettling(70_000);
  expect(warnings).toHaveLength(2);
});
