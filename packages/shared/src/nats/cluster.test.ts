/** Streams on a cluster of three real NATS servers, of which one is missing, is killed, or comes back with an empty disk. */
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type NatsCluster, startNatsCluster } from '../../../../test/support/nats-cluster.ts';
import { heartbeatsStream, resultsStream, resultsSubject } from '../messages/subjects.ts';
import type { Region } from '../regions.ts';
import type { StreamMessage } from './bus.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';
import { NatsResultStreams, TooFewServers } from './result-streams.ts';
import { JETSTREAM_ANSWER_MS, jetStreamManager } from './stream-reading.ts';

const log = pino({ level: 'silent' });
const REGION: Region = 'hosta-fra';
const LIMITS = { maxBytes: 64 * 1024 ** 2 };

async function busAt(cluster: NatsCluster, index: number): Promise<NatsBus> {
  const bus = await connectBus({ url: cluster.urlOf(index), name: 'test', log });
  onTestFinished(() => bus.close());
  return bus;
}

async function clusterOf(running: number): Promise<NatsCluster> {
  const cluster = await startNatsCluster({ running });
  onTestFinished(() => cluster.dispose());
  return cluster;
}

const ensured = (bus: NatsBus) =>
  new NatsResultStreams(bus).ensure(REGION, LIMITS).then(
    () => 'ensured',
    (error: unknown) => error,
  );

test('streams lie on three servers; with fewer running they are not created', async () => {
  const cluster = await clusterOf(2);
  const bus = await busAt(cluster, 0);
  await expect.poll(() => ensured(bus)).toBeInstanceOf(TooFewServers);
  await cluster.start(2);
  await expect.poll(() => ensured(bus)).toBe('ensured');
  await expect.poll(() => cluster.currentServersOf(resultsStream(REGION))).toBe(3);
  const reading = await bus.readHeartbeats(
    REGION,
    () => {},
    () => {},
  );
  await expect.poll(() => cluster.currentServersOf(heartbeatsStream(REGION))).toBe(3);
  await reading.close();
});

test('a stream that a single server made gets its replicas when the server joins a cluster', async () => {
  const cluster = await clusterOf(3);
  const bus = await busAt(cluster, 0);
  const config = { name: resultsStream(REGION), subjects: [resultsSubject(REGION)], num_replicas: 1 };
  const { streams } = await jetStreamManager(bus.connection);
  await expect.poll(() => streams.add(config).catch(String)).toMatchObject({ config: { num_replicas: 1 } });
  await expect.poll(() => ensured(bus)).toBe('ensured');
  await expect.poll(() => cluster.currentServersOf(config.name)).toBe(3);
});

test('what was acknowledged survives each server: killed, and back with an empty disk', async () => {
  const cluster = await clusterOf(3);
  const bus = await busAt(cluster, 0);
  const stream = resultsStream(REGION);
  await expect.poll(() => ensured(bus)).toBe('ensured');
  const sent: string[] = [];
  const isStored = async (text: string) => {
    const answer = await bus.connection.request(resultsSubject(REGION), text, {
      timeout: JETSTREAM_ANSWER_MS,
    });
    return answer.json<{ seq?: number }>().seq !== undefined;
  };
  const send = async (text: string) => {
    await expect.poll(() => isStored(text).catch(String)).toBe(true);
    sent.push(text);
  };
  const untilAllHaveIt = () => expect.poll(() => cluster.currentServersOf(stream)).toBe(3);
  await untilAllHaveIt();
  await send('before');
  await cluster.kill(2);
  await send('without 2');
  await cluster.start(2, 'with an empty disk');
  await untilAllHaveIt();
  await cluster.kill(1);
  await send('without 1');

  const read: string[] = [];
  const collect = ({ data }: StreamMessage) => void read.push(Buffer.from(data).toString());
  // The servers may still elect the leader that makes consumers: the callers of `read` try again.
  const begun = async () => {
    const reading = await new NatsResultStreams(bus).read(stream, 1, collect, () => {});
    onTestFinished(() => reading.close());
    return 'begun';
  };
  await expect.poll(() => begun().catch(String)).toBe('begun');
  // A request whose answer was lost with the leader may have been stored, too.
  await expect.poll(() => read.at(-1)).toBe('without 1');
  expect([...new Set(read)]).toEqual(sent);
});
