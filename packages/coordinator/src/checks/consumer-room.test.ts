/** If NATS has no room for the limits, streams get a limit that fits and are read, and nothing stops. */
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { resultsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { startedConsumer, streamsThere } from '../../../../test/support/coordinator/started-consumer.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import type { ResultConsumer } from './consumer.ts';

const [A, B] = THREE as [Region, Region];
const ACTIVE: readonly Region[] = [A, B];
const log = createLogger('test', 'silent');
const MEBIBYTE = 1024 ** 2;
const ROOM = `accounts { APP: {
  jetstream: { max_file: 64MB, max_mem: 16MB }, users: [ { user: svc, password: secret } ]
} }`;

let server: NatsServer;
let bus: NatsBus;
let streams: NatsResultStreams;
let recording: Recording;
let consumer: ResultConsumer;

beforeEach(async () => {
  server = await startNatsServer(ROOM);
  const url = server.url.replace('//', '//svc:secret@');
  bus = await connectBus({ url, name: 'test', log });
  streams = new NatsResultStreams(bus);
  recording = await Recording.open(systemClock);
  await recording.declare(liveMonitor(1));
});

afterEach(async () => {
  await consumer.stop();
  await recording.dispose();
  await bus.close();
  await server.dispose();
});

function startConsumer(maxBytes: number): void {
  consumer = startedConsumer({
    bus,
    streams,
    recording,
    maxBytes,
    hadAgentWithin24h: (region) => ACTIVE.includes(region),
  });
}

async function send(region: Region, slot: number): Promise<void> {
  const result = { monitor: 1, version: 1, slot, token: 'good', outcome: 'passed', started_at: slot };
  const batch = { v: 1, agent: 'agent-1', results: [{ ...result, attempts: [] }] };
  bus.publish(resultsSubject(region), JSON.stringify(batch));
  await bus.flush();
}

const recorded = async () => (await recording.results()).map(({ slot }) => slot);

test('existing streams keep their limit when a larger one does not fit, and are read', async () => {
  startConsumer(32 * MEBIBYTE);
  await streamsThere(streams, ACTIVE);
  await consumer.stop();
  startConsumer(1_024 * MEBIBYTE);
  await send(A, 1_000);
  await consumer.caughtUp();
  expect(await recorded()).toEqual([1_000]);
});

test('a stream that does not fit is made smaller', async () => {
  startConsumer(80 * MEBIBYTE);
  await streamsThere(streams, ACTIVE);
  await send(B, 1_000);
  await consumer.caughtUp();
  expect(await recorded()).toEqual([1_000]);
});
