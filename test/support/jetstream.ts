import type { JetStreamManager, NatsConnection } from 'nats';
import { TIME_LIMITS } from './time-limits.ts';

/**
 * The client of a server's JetStream for tests. The client's own
 * default gives a request up after 5 s, which a busy machine takes.
 */
export function jetStreamOf(connection: NatsConnection): Promise<JetStreamManager> {
  return connection.jetstreamManager({ timeout: TIME_LIMITS.pollMs });
}
