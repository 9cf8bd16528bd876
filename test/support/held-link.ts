import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type HeldLink = {
  readonly port: number;
  /** Holds the link: from now on bytes wait, and no connection ends. */
  hold(): void;
  release(): void;
  /** Ends all connections, and leads later ones to another port. */
  lead(toPort: number): void;
  close(): Promise<void>;
};

/**
 * Starts a link to a server on this machine, on a free loopback port. The link can be held, like a network that does
 * not answer. It passes each chunk on at once: otherwise the end of a long answer would wait for up to 40 ms.
 */
export async function startHeldLink(toPort: number): Promise<HeldLink> {
  const sockets = new Set<Socket>();
  let target = toPort;
  let isHeld = false;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk) => to.write(chunk));
      if (isHeld) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    lead(nextPort) {
      target = nextPort;
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
