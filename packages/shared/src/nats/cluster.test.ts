/**
 * Streams on clusters of real NATS servers: with too few servers, without a leader, and after the death of
 * servers.
 */
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

/** A connection that knows one server only, or all servers. */
async function busAt(cluster: NatsCluster, index: number | 'all'): Promise<NatsBus> {
  const url = index === 'all' ? cluster.url : cluster.urlOf(index);
  const bus = await connectBus({ url, name: 'test', log });
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

test('streams are listed while one of them has no leader', async () => {
  const cluster = await clusterOf(3);
  const bus = await busAt(cluster, 'all');
  const [there, without] = [resultsStream(REGION), resultsStream('hostb-par')];
  await expect.poll(() => ensured(bus)).toBe('ensured');
  const { streams } = await jetStreamManager(bus.connection);
  await streams.add({ name: without, subjects: [resultsSubject('hostb-par')], num_replicas: 1 });
  await cluster.kill(await cluster.leaderOf(without));
  const listed = async () =>
    [...(await new NatsResultStreams(bus).list())].map(([name, info]) => [name, info !== null]).sort();
  const expected = [
    [there, true],
    [without, false],
  ];
  await expect.poll(() => listed().catch(String)).toEqual(expected);
});

test('a reading of heartbeats has a gap when its stream got another leader', async () => {
  const cluster = await clusterOf(3);
  const stream = heartbeatsStream(REGION);
  const readingOver = async (bus: NatsBus) => {
    const reading = await bus.readHeartbeats(
      REGION,
      () => {},
      () => {},
    );
    onTestFinished(() => reading.close());
    return reading;
  };
  const first = await busAt(cluster, 0);
  await expect.poll(() => readingOver(first).then(() => 'begun', String)).toBe('begun');
  await expect.poll(() => cluster.currentServersOf(stream)).toBe(3);
  const leader = await cluster.leaderOf(stream);
  const reading = await readingOver(leader === 0 ? await busAt(cluster, 1) : first);
  expect(await reading.isGapless()).toBe(true);
  await cluster.kill(leader);
  await expect.poll(() => reading.isGapless().catch(() => 'no leader')).toBe(false);
});

test('a reading of heartbeats has a gap when the leader has lost the other servers, and goes on over a new stream', async () => {
  const cluster = await clusterOf(3);
  const stream = heartbeatsStream(REGION);
  const bus = await busAt(cluster, 'all');
  const begun = async (isAnew: boolean) => {
    const reading = await bus.readHeartbeats(
      REGION,
      () => {},
      () => {},
      isAnew,
    );
    onTestFinished(() => reading.close());
    return reading;
  };
  await expect.poll(() => begun(false).then(() => 'begun', String)).toBe('begun');
  const leader = await cluster.leaderOf(stream);
  const reading = await begun(false);
  expect(await reading.isGapless()).toBe(true);
  const others = [0, 1, 2].filter((index) => index !== leader);
  for (const index of others) await cluster.kill(index);
  await expect.poll(() => reading.isGapless().catch(String)).toBe(false);
  for (const index of others) await cluster.start(index);
  await expect.poll(() => begun(true).then((anew) => anew.isGapless(), String)).toBe(true);
});

test('what was acknowledged survives the death of each leader, who comes back with an empty disk', async () => {
  const cluster = await clusterOf(3);
  const bus = await busAt(cluster, 'all');
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
  const first = await cluster.leaderOf(stream);
  await cluster.kill(first);
  await send('without the first leader');
  await cluster.start(first, 'with an empty disk');
  await untilAllHaveIt();
  await cluster.kill(await cluster.leaderOf(stream));
  await send('without the second one');

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
  await expect.poll(() => read.at(-1)).toBe('without the second one');
  expect([...new Set(read)]).toEqual(sent);
});
