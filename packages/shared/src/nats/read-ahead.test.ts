/** The bound on the bytes that all readings of one connection request together. */
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { collector } from '../../../../test/support/collector.ts';
import { jetStreamOf } from '../../../../test/support/jetstream.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { resultsStream, resultsSubject } from '../messages/subjects.ts';
import { REGIONS } from '../regions.ts';
import type { StreamReading } from './bus.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';
import { NatsResultStreams } from './result-streams.ts';

const MEBIBYTE = 1024 * 1024;
const MESSAGE = 100 * 1024;
const MESSAGES = 3;

let server: NatsServer;
let bus: NatsBus;
let readings: StreamReading[];
/** Until it is resolved, no message counts as handled. */
let gate: PromiseWithResolvers<void>;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());
beforeEach(async () => {
  bus = await connectBus({ url: server.url, name: 'test', log: pino({ level: 'silent' }) });
  readings = [];
  gate = Promise.withResolvers();
});
afterEach(async () => {
  gate.resolve();
  await Promise.all(readings.map((reading) => reading.close()));
  await bus.close();
});

test('the readings of 56 regions keep less than 8 MiB on the way, and read all', async () => {
  const streams = new NatsResultStreams(bus);
  const regions = [...REGIONS, ...REGIONS.map((_, index) => `office-${index}`)];
  bus.expectRegions(regions.length);
  const shard = 0;
  for (const region of regions) {
    await streams.ensure(region, { maxBytes: 4 * MEBIBYTE, shard, hasOthers: true });
    const data = 'x'.repeat(MESSAGE);
    for (let n = 0; n < MESSAGES; n += 1) bus.publish(resultsSubject(region, shard), data);
    await bus.flush();
  }
  const seen = collector<string>();
  const ended = collector<unknown>();
  for (const region of regions) {
    const name = resultsStream(region, shard);
    const handle = ({ sequence }: { readonly sequence: number }) => {
      seen.handle(`${name} ${sequence}`);
      return gate.promise;
    };
    readings.push(await streams.read(name, 1, handle, ended.handle));
  }
  await bus.flush();
  const { consumers } = await jetStreamOf(bus.connection);
  let delivered = 0;
  for (const region of regions) {
    const [consumer] = await consumers.list(resultsStream(region, shard)).next();
    delivered += (consumer?.delivered.consumer_seq ?? 0) * MESSAGE;
  }
  expect(delivered).toBeLessThanOrEqual(8 * MEBIBYTE);
  gate.resolve();
  const all = await seen.count(regions.length * MESSAGES);
  expect(new Set(all).size).toBe(all.length);
  expect(ended.messages).toEqual([]);
});
