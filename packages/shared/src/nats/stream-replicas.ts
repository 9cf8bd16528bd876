import type { NatsConnection } from 'nats';

/** Number of servers of a cluster that keep each stream, so that one of them may be down. */
export const CLUSTER_REPLICAS = 3;

/** JetStream error code "no suitable peers for placement": fewer servers run than a stream has replicas. */
export const TOO_FEW_PEERS = 10005;

/**
 * Number of servers that store a stream: one, or {@link CLUSTER_REPLICAS} when the
 * connected server is in a cluster.
 */
export function replicasAt({ info }: Pick<NatsConnection, 'info'>): number {
  return info?.cluster === undefined ? 1 : CLUSTER_REPLICAS;
}
