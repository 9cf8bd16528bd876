import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type NatsProxy, startNatsProxy } from '../../../../test/support/nats-proxy.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { resultsStream } from '../messages/subjects.ts';
import type { Region } from '../regions.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';
import { NatsResultStreams } from './result-streams.ts';

const REGION: Region = 'hosta-fra';
const STREAM = resultsStream(REGION);
const LIMITS = { maxBytes: 1024 * 1024 };

let server: NatsServer;
let proxy: NatsProxy;
let bus: NatsBus;
let streams: NatsResultStreams;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());
beforeEach(async () => {
  proxy = await startNatsProxy(Number(new URL(server.url).port));
  const url = `nats://127.0.0.1:${proxy.port}`;
  bus = await connectBus({ url, name: 'test', log: pino({ level: 'silent' }) });
  streams = new NatsResultStreams(bus);
  await streams.ensure(REGION, LIMITS);
});
afterEach(async () => {
  await bus.close();
  await proxy.close();
});

test.each<[string, () => Promise<unknown>]>([
  ['the list', () => streams.list()],
  ['a stream', () => streams.ensure(REGION, LIMITS)],
  ['a message', () => streams.message(STREAM, 1)],
  ['a purge', () => streams.purge(STREAM, 2)],
  [
    'a reading',
    () =>
      streams.read(
        STREAM,
        1,
        () => {},
        () => {},
      ),
  ],
])('%s that is asked for when the connection is lost is not waited for', async (_, ask) => {
  const question = ask();
  proxy.cut();
  await expect(question).rejects.toMatchObject({ code: 'bus-disconnected' });
});
