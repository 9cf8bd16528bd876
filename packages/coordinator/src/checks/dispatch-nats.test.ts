import { MAX_AGENTS_PER_REGION } from '@svc/shared/messages/heartbeat.ts';
import { heartbeatSubject, runSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import {
  EAST,
  FRA,
  liveMonitor,
  log,
  PAR,
  TestAgent,
} from '../../../../test/support/coordinator/dispatch-parts.ts';
import { forgetRegions, Rig } from '../../../../test/support/coordinator/dispatch-rig.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { jetStreamOf } from '../../../../test/support/jetstream.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { ScaledClock } from '../../../../test/support/scaled-clock.ts';
import type { Store } from '../store/store.ts';
import type { KnownAgent } from './agents.ts';

let server: NatsServer;
let database: TemporaryStore;
let store: Store;
let bus: NatsBus;
let agents: NatsBus;
/**
 * The clock of this rig stands still. Only {@link giveOut} moves it, so that a stall
 * of the machine does not count as silence.
 */
let rig: Rig<NatsBus>;

beforeAll(async () => {
  server = await startNatsServer();
  database = await temporaryStore();
  store = database.store;
});
afterAll(async () => {
  await database.dispose();
  await server.dispose();
});
beforeEach(async () => {
  await forgetRegions(store);
  bus = await connectBus({ url: server.url, name: 'coordinator', log });
  agents = await connectBus({ url: server.url, name: 'agents', log });
  rig = new Rig({ store, bus, clock: new FakeClock() });
  await rig.dispatch.start();
  // After this round trip the server knows the subscriptions of dispatch.
  await bus.flush();
});
afterEach(async () => {
  await rig.dispatch.stop();
  const { streams } = await jetStreamOf(bus.connection);
  for await (const { config } of streams.list()) await streams.delete(config.name);
  await agents.close();
  await bus.close();
});

/** Resolves after a round trip of the agents' connection to the server, and one of the coordinator's. */
async function exchanged(): Promise<void> {
  await agents.flush();
  await bus.flush();
}

async function startAgent(
  region: ConstructorParameters<typeof TestAgent>[1],
  id?: string,
): Promise<TestAgent> {
  const agent = new TestAgent(agents, region, id);
  await agents.flush();
  agent.beat();
  await expect.poll(() => [...rig.dispatch.agents.agentsOf(region)].some(isHeard(agent.id))).toBe(true);
  return agent;
}

const isHeard = (id: string) => (known: KnownAgent) => known.id === id && known.serial > 0;

/** Advances the clock, so that the due jobs are published. */
const giveOut = (): void => rig.clock.advance(450);

/** Resolves when the agent gets its next batch of jobs. */
const offered = (agent: TestAgent): Promise<void> => new Promise((resolve) => (agent.onOffer = resolve));

test('jobs reach the agents of their regions', async () => {
  const three = [await startAgent(FRA), await startAgent(PAR), await startAgent(EAST)];
  const all = Promise.all(three.map(offered));
  rig.monitors.set(liveMonitor(1, { regions: [FRA, PAR, EAST] }));
  giveOut();
  await all;
  await exchanged();
  expect(rig.dispatch.counters).toMatchObject({
    asked: { first: 3, again: 0 },
  });
  const slot = rig.sink.opens[0]?.slot ?? 0;
  for (const { offers, region } of three) {
    expect(offers).toHaveLength(1);
    expect(rig.tokens.isValid(offers[0]?.token ?? '', 1, region, slot)).toBe(true);
    rig.dispatch.outcomeRecorded({
      monitorId: 1,
      slot: slot,
      region: region,
      is: 'reported',
      timedOut: false,
    });
  }
  expect(rig.dispatch.inFlight).toBe(0);
});

test('agents that ran before the coordinator are known at once', async () => {
  const agent = await startAgent(FRA);
  const late = new Rig({ store, bus, clock: new FakeClock() });
  await late.dispatch.start();
  await expect.poll(() => late.dispatch.agents.isLive(FRA)).toBe(true);
  await late.dispatch.stop();
  agent.close();
});

test('a batch reaches one of two agents', async () => {
  const two = [await startAgent(FRA, 'a'), await startAgent(FRA, 'b')];
  const first = Promise.race(two.map(offered));
  rig.monitors.set(liveMonitor(1));
  giveOut();
  await first;
  await exchanged();
  expect(two.flatMap(({ offers }) => offers)).toHaveLength(1);
});

test('a job beyond 256 KiB goes alone, and a batch never exceeds it', async () => {
  const agent = await startAgent(FRA);
  const sizes: number[] = [];
  const listener = await connectBus({ url: server.url, name: 'listener', log });
  listener.subscribe('svc.jobs.*', ({ data }) => sizes.push(data.length));
  await listener.flush();
  const check = JSON.parse(liveMonitor(1).checkText.reveal()) as object;
  const padded = (bytes: number) => new Secret(JSON.stringify({ ...check, padding: 'ü'.repeat(bytes / 2) }));
  rig.monitors.set(liveMonitor(1, { checkText: padded(400_000) }));
  for (let id = 2; id <= 8; id += 1) rig.monitors.set(liveMonitor(id, { checkText: padded(100_000) }));
  giveOut();
  await expect.poll(() => agent.offers).toHaveLength(8);
  await listener.flush();
  expect(sizes.filter((size) => size > 256 * 1_024)).toHaveLength(1);
  await listener.close();
});

test('a job that the server does not accept is given up at once', async () => {
  await startAgent(FRA);
  const checkText = new Secret(JSON.stringify({ type: 'tcp', padding: 'x'.repeat(2_000_000) }));
  rig.monitors.set(liveMonitor(1, { checkText }));
  giveOut();
  await expect.poll(() => rig.sink.abstentions).toMatchObject([{ reason: 'internal-error' }]);
});

/** Longer than any test. */
const DAY_MS = 86_400_000;

test('a check by hand is answered by the agents that are present', async () => {
  await startAgent(FRA);
  agents.subscribe(`svc.jobs.${PAR}`, ({ data }) => {
    const { run } = JSON.parse(Buffer.from(data).toString()) as { run: string };
    const result = { outcome: 'passed', started_at: 1, latency: 3, attempts: [] };
    agents.publish(runSubject(PAR, run), JSON.stringify({ v: 1, kind: 'run_outcome', agent: 'a', result }));
  });
  await agents.flush();
  // EAST has no listener, so it does not delay the answer.
  const answers = await rig.dispatch.runNow(liveMonitor(1).checkText, [PAR, EAST], DAY_MS);
  expect(answers).toMatchObject([
    { region: PAR, agent: 'a', result: { outcome: 'passed' } },
    { region: EAST, agent: null, result: null },
  ]);
});

test('after the server was killed and is back, jobs that waited are sent', async () => {
  // The clock runs, because connections are made again after a wait.
  const timed = new Rig({ store, bus, clock: new ScaledClock(1) });
  await timed.dispatch.start();
  const agent = await startAgent(FRA);
  await expect.poll(() => timed.dispatch.agents.isLive(FRA)).toBe(true);
  const gone = new Promise<void>((resolve) => {
    const stop = bus.onConnection(() => {
      stop();
      resolve();
    });
  });
  await server.kill();
  await gone;
  timed.monitors.set(liveMonitor(1));
  await expect.poll(() => timed.dispatch.inFlight).toBe(1);
  const taken = offered(agent);
  await server.restart();
  // The agent repeats its heartbeat until the coordinator has created the stream that keeps heartbeats.
  const beating = setInterval(() => {
    if (agents.isConnected) agent.beat();
  }, 100);
  await taken;
  clearInterval(beating);
  expect(timed.sink.abstentions).toEqual([]);
  expect(timed.dispatch.counters.agentsGone).toBe(0);
  await timed.dispatch.stop();
});

describe('a heartbeat', () => {
  const heartbeat = {
    v: 1,
    kind: 'heartbeat',
    agent: 'a',
    boot: 'b',
    version: '1',
    capacity: 1,
    running: 0,
    held: 0,
    loop_delay_ms: 0,
    clock: 0,
    started_at: 0,
    draining: false,
  };
  const said = (change: object) => JSON.stringify({ ...heartbeat, ...change });

  test.each([
    ['nothing', ''],
    ['no JSON', '{"v":1,'],
    ['no text', new Uint8Array([0xff, 0xfe, 0x00])],
    ['no object', '[]'],
    ['a null', 'null'],
    ['version 0', said({ v: 0 })],
    ['another kind', said({ kind: 'hello' })],
    ['an empty agent id', said({ agent: '' })],
    ['a boot id with a blank', said({ boot: 'a b' })],
    ['a negative capacity', said({ capacity: -1 })],
    ['a negative number of jobs', said({ held: -1 })],
    ['deep nesting', '['.repeat(4_000)],
  ])('that is or has %s is dropped and counted', async (_, data) => {
    agents.publish(heartbeatSubject(FRA, 'b'), data);
    await expect.poll(() => rig.dispatch.counters.messagesDropped).toBe(1);
    expect(rig.dispatch.agents.live()).toEqual([]);
    await startAgent(FRA);
    expect(rig.dispatch.agents.live()).toEqual([FRA]);
  });

  test('may have unknown members', async () => {
    agents.publish(heartbeatSubject(FRA, 'b'), said({ colour: 'blue' }));
    await expect.poll(() => rig.dispatch.agents.live()).toEqual([FRA]);
    expect(rig.dispatch.counters.messagesDropped).toBe(0);
  });

  test('beyond a thousand agents of a region is counted, and adds no agent', async () => {
    for (let index = 0; index < MAX_AGENTS_PER_REGION + 100; index += 1) {
      agents.publish(heartbeatSubject(FRA, `boot-${index}`), said({ agent: `agent ${index}` }));
    }
    await expect.poll(() => rig.dispatch.counters.heartbeatsDropped).toBe(100);
    expect([...rig.dispatch.agents.agentsOf(FRA)]).toHaveLength(MAX_AGENTS_PER_REGION);
  });
});
