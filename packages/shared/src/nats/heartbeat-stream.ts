import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from 'nats';
import { MAX_HEARTBEAT_BYTES, MAX_KEPT_HEARTBEATS } from '../messages/heartbeat.ts';
import { heartbeatSubject, heartbeatsStream } from '../messages/subjects.ts';
import type { Region } from '../regions.ts';
import { HEARTBEATS_AHEAD_BYTES, type HeartbeatReading } from './bus.ts';
import { jetStreamManager, type MessageHandler, type ReadableBus, readStream } from './stream-reading.ts';
import { replicasAt, TOO_FEW_PEERS } from './stream-replicas.ts';

/**
 * Memory of the server for a region's heartbeats, bytes. It holds the heartbeats of 1,000 agents with the
 * server's overhead.
 */
const MAX_BYTES = 1_024 ** 2;
/**
 * Age at which NATS forgets a heartbeat, ms. An agent counts as gone earlier, after three missed heartbeats.
 */
const MAX_AGE_MS = 10_000;
/** Minimum time that servers accept for remembering message ids, ms. Heartbeats have no ids. */
const DUPLICATE_WINDOW_MS = 100;

/**
 * A server counts as heard if the leader of the stream has had a message from
 * it within this time, ms. Each server sends such a message every second.
 */
const HEARD_WITHIN_MS = 4_000;

/** JetStream error code "stream name already in use with a different configuration". */
const STREAM_NAME_TAKEN = 10058;

/**
 * The configuration of the stream with a region's heartbeats. The stream keeps one message for each subject,
 * so a reader finds one heartbeat at most for each start of an agent, whatever the holder of a region's key
 * sends, and however often.
 *
 * A full stream refuses new subjects, but known agents can still replace their heartbeats. A flood under
 * invented names therefore removes no agent; it only keeps further agents of its own region out.
 */
const configOf = (region: Region) =>
  ({
    name: heartbeatsStream(region),
    subjects: [heartbeatSubject(region, '*')],
    storage: StorageType.Memory,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    max_msgs: MAX_KEPT_HEARTBEATS,
    max_bytes: MAX_BYTES,
    max_msg_size: MAX_HEARTBEAT_BYTES,
    max_age: nanos(MAX_AGE_MS),
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    no_ack: true,
  }) satisfies Partial<StreamConfig>;

/**
 * Reads the heartbeats of a region as `Bus.readHeartbeats` says. The stream is created if it is missing: it
 * is in memory, and a server that restarts loses it.
 */
export async function readHeartbeats(
  bus: ReadableBus,
  region: Region,
  handler: MessageHandler,
  onEnd: (error: unknown) => void,
  isAnew = false,
): Promise<HeartbeatReading> {
  const manager = await jetStreamManager(bus.connection);
  const config = { ...configOf(region), num_replicas: replicasAt(bus.connection) };
  const isRemoved = isAnew && config.num_replicas > 1;
  // The error is ignored: either the stream is gone already, or the next step most likely fails as well.
  if (isRemoved) await bus.unlessLost(() => manager.streams.delete(config.name)).catch(() => {});
  const { cluster } = await bus.unlessLost(() => ensureStream(manager, config));
  const reading = await readStream(bus, config.name, 1, handler, onEnd, {
    readAheadBytes: HEARTBEATS_AHEAD_BYTES,
  });
  return {
    close: () => reading.close(),
    async isGapless() {
      const now = await bus.unlessLost(() => manager.streams.info(config.name));
      return now.cluster?.leader === cluster?.leader && isLed(now.cluster);
    },
  };
}

/** Removes the streams of other regions, as `Bus.removeOtherHeartbeats` says. */
export async function removeOtherHeartbeats(
  bus: Pick<ReadableBus, 'connection' | 'unlessLost'>,
  regions: readonly Region[],
): Promise<Region[]> {
  const { streams } = await jetStreamManager(bus.connection);
  const prefix = heartbeatsStream('');
  const others = await bus.unlessLost(async () => {
    const found: Region[] = [];
    for await (const name of streams.names()) {
      const region = name.slice(prefix.length);
      if (name.startsWith(prefix) && !regions.includes(region)) found.push(region);
    }
    return found;
  });
  const withAgents: Region[] = [];
  for (const region of others) {
    const { state } = await bus.unlessLost(() => streams.info(heartbeatsStream(region)));
    if (state.consumer_count > 0) continue;
    if (state.messages > 0) withAgents.push(region);
    await bus.unlessLost(() => streams.delete(heartbeatsStream(region)));
  }
  return withAgents;
}

/**
 * Whether the stream has a leader that has heard most of the stream's servers lately. A leader
 * that is cut off from them stores nothing, and still reports itself as the leader for 20 s.
 */
function isLed(cluster: StreamInfo['cluster']): boolean {
  // A server alone has no cluster.
  if (cluster === undefined || cluster === null) return true;
  const { leader, replicas = [] } = cluster;
  const heard = replicas.filter(({ active }) => active < nanos(HEARD_WITHIN_MS)).length;
  return leader !== undefined && leader !== '' && 2 * (1 + heard) > 1 + replicas.length;
}

async function ensureStream(
  { streams }: Pick<JetStreamManager, 'streams'>,
  config: Partial<StreamConfig> & { name: string },
): Promise<StreamInfo> {
  try {
    return await streams.add(config);
  } catch (error) {
    const code = error instanceof NatsError ? error.api_error?.err_code : undefined;
    // Until the third server is back, one server keeps the heartbeats.
    if (code === TOO_FEW_PEERS && config.num_replicas !== 1)
      return ensureStream({ streams }, { ...config, num_replicas: 1 });
    if (code !== STREAM_NAME_TAKEN) throw error;
    // The stream exists with another configuration: of another version of svc, or with another number of
    // replicas. The agents send their heartbeats again within 2 s.
    await streams.delete(config.name);
    return streams.add(config);
  }
}
