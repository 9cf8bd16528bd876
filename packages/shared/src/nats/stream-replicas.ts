import type { NatsConnection } from 'nats';

/** Number of servers of a cluster that keep each stream, so that one of them may be down. */
export const CLUSTER_REPLICAS = 3;

/**
 * Number of servers that store a stream: one, or {@link CLUSTER_REPLICAS} when the
 * connected server is in a cluster.
 */
export function replicasAt({ info }: Pick<NatsConnection, 'info'>): number {
  return info?.cluster === undefined ? 1 : CLUSTER_REPLICAS;
}
