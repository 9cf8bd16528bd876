import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createApp } from './app.ts';
import type { ApiDependencies } from './dependencies.ts';
import { Problem } from './problem.ts';

export interface Api {
  /** Listens; rejects when the address cannot be had. */
  start(): Promise<{ url: string }>;
  /** Takes no more requests; running ones have 1 s to end. */
  stop(): Promise<void>;
}

/** ms */
const STOP_GRACE_MS = 1_000;

export function createApi(dependencies: ApiDependencies): Api {
  const { listen } = dependencies;
  const app = createApp(dependencies);
  // A request that cannot even be made into one, such as with a host name that is none.
  const errorHandler = () => malformed().response(randomUUID());
  const server = createServer(getRequestListener(app.fetch, { errorHandler }));
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end(rawProblem(), () => socket.destroy());
    else socket.destroy();
  });
  return {
    async start() {
      server.listen(listen.port, listen.host);
      await once(server, 'listening');
      const { address, port, family } = server.address() as AddressInfo;
      return { url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` };
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cancel = dependencies.clock.after(STOP_GRACE_MS, () => server.closeAllConnections());
      await closed;
      cancel();
    },
  };
}

function malformed(): Problem {
  return new Problem('malformed-request', 'this is not a valid HTTP request, or its headers are too long');
}

/** For what is not even HTTP. */
function rawProblem(): string {
  const body = JSON.stringify(malformed().document(randomUUID()));
  return `HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}
