import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type NatsProxy = {
  readonly port: number;
  /** The server for new connections, and the change to the first message of the server. */
  lead(toPort: number, rewrite?: (info: string) => string): void;
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
      heard += chunk.toString('latin1');
      upstream.write(chunk);
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
