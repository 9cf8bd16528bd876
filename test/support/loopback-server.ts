import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a port of loopback, and returns the port. Without `port`, it is a free one. */
export async function listenOnLoopback(server: Server, backlog = 511, port = 0): Promise<number> {
  server.listen({ port, host: '127.0.0.1', backlog });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Ends the server with all of its connections. */
export async function endServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
