import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type NatsProxy = {
  readonly port: number;
  /**
   * Connects new clients to the server on this port from
   * now on. `rewrite` changes the server's first message.
   */
  lead(toPort: number, rewrite?: (info: string) => string): void;
  /**
   * Does the work before bytes with this text are first passed
   * from a client to the server. Resolves when the work is done.
   */
  once(text: string, work: () => Promise<void>): Promise<void>;
  /** Ends all connections. */
  cut(): void;
  /** The bytes that clients have sent so far over all connections. */
  readonly heard: string;
  close(): Promise<void>;
};

/** An attacker between a NATS server and its clients, on a free loopback port. */
export async function startNatsProxy(toPort: number): Promise<NatsProxy> {
  const sockets = new Set<Socket>();
  let target = toPort;
  let change = (info: string): string => info;
  let heard = '';
  let held: { text: string; work: () => Promise<void> } | null = null;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const rewrite = change;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      const said = chunk.toString('latin1');
      heard += said;
      if (held === null || !said.includes(held.text)) {
        upstream.write(chunk);
        return;
      }
      const { work } = held;
      held = null;
      client.pause();
      void work().then(() => {
        upstream.write(chunk);
        client.resume();
      });
    });
    upstream.once('data', (chunk) => {
      client.write(rewrite(chunk.toString('latin1')), 'latin1');
      upstream.on('data', (later) => client.write(later));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    lead(nextPort, rewrite = (info) => info) {
      target = nextPort;
      change = rewrite;
    },
    once(text, work) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      held = { text, work: () => work().then(resolve, reject) };
      return promise;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    get heard() {
      return heard;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
