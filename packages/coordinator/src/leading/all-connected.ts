import type { Bus } from '@svc/shared/nats/bus.ts';

/** Whether there is a connection to NATS, and a way to hear of changes. */
export type Connectedness = Pick<Bus, 'isConnected' | 'onConnection'>;

/**
 * The connections of a coordinator as one, which is connected while all of them are. While the connection of a
 * shard is lost, the shard is not checked, even if the other connections work.
 */
export function allConnected(connections: readonly Connectedness[]): Connectedness {
  const areConnected = () => connections.every(({ isConnected }) => isConnected);
  return {
    get isConnected() {
      return areConnected();
    },
    onConnection(listener) {
      let last = areConnected();
      const changed = () => {
        if (areConnected() === last) return;
        last = !last;
        listener(last);
      };
      const cancels = connections.map((connection) => connection.onConnection(changed));
      return () => {
        for (const cancel of cancels) cancel();
      };
    },
  };
}
