import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { Clock } from '@svc/shared/clock.ts';
import type { ApiParts } from './api-parts.ts';
import { AuditTrail } from './audit.ts';
import { createApp } from './http-app.ts';
import { connectionLimit, DEFAULT_TIMEOUTS, readTlsFiles, TlsFilesWatch } from './listener-settings.ts';
import { Problem } from './problem.ts';
import { isLoopbackHost } from './request-facts.ts';

export interface Api {
  /**
   * Starts to listen. Rejects with an error of Node when it cannot
   * listen at the address, or with SvcError `bad-tls-files`.
   */
  start(): Promise<{ url: string }>;
  /**
   * Accepts no further requests. Running requests have {@link STOP_GRACE_MS}
   * to end. Then the remaining audit lines are written.
   */
  stop(): Promise<void>;
}

/** Time that {@link Api.stop} gives running requests to end, ms. */
const STOP_GRACE_MS = 1_000;

export function createApi(parts: ApiParts): Api {
  const { listen, tls = null, clock, log, publicUrl } = parts;
  const trail = new AuditTrail({ ...parts, leftOut: parts.counters.auditLinesLeftOut });
  const { app, sites } = createApp(parts, trail);
  // Answers a request that Node cannot turn into a `Request`, for example because its host name is not valid.
  const errorHandler = () => malformed().response(randomUUID());
  // `hostname` stands in for the missing host in the URL of an HTTP/1.0
  // request without a `Host` header. No part of svc uses this name.
  const listener = getRequestListener(app.fetch, { errorHandler, hostname: 'svc.invalid' });
  const server = createListener(listener, parts);
  const watch =
    tls === null
      ? null
      : new TlsFilesWatch(tls, {
          clock,
          log,
          onChange: (pair) => (server as TlsServer).setSecureContext(pair),
        });
  return {
    async start() {
      await watch?.start();
      if (tls !== null) (server as TlsServer).setSecureContext(await readTlsFiles(tls));
      else if (!isLoopbackHost(listen.host)) warnOfPlain(log, publicUrl);
      server.listen(listen.port, listen.host);
      await once(server, 'listening');
      const { address, port, family } = server.address() as AddressInfo;
      const scheme = tls === null ? 'http' : 'https';
      return { url: `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}` };
    },
    async stop() {
      watch?.stop();
      for (const site of sites) site.stop?.();
      await close(server, clock);
      await trail.close();
    },
  };
}

async function close(server: Server | TlsServer, clock: Clock): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const cancel = clock.after(STOP_GRACE_MS, () => server.closeAllConnections());
  await closed;
  cancel();
}

function createListener(
  answer: RequestListener,
  { tls = null, timeouts = DEFAULT_TIMEOUTS, maxConnections = connectionLimit() }: ApiParts,
): Server | TlsServer {
  // By default, Node checks its time limits only every 30 s,
  // so a client could take 40 s for the headers of a request.
  const connectionsCheckingInterval = timeouts.checkEvery;
  const server: Server | TlsServer =
    tls === null
      ? createServer({ connectionsCheckingInterval }, answer)
      : createTlsServer({ connectionsCheckingInterval, handshakeTimeout: timeouts.handshake }, answer);
  server.headersTimeout = timeouts.headers;
  server.requestTimeout = timeouts.request;
  server.timeout = timeouts.idle;
  server.maxConnections = maxConnections;
  server.on('clientError', refuse);
  return server;
}

function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const answer = isLate ? 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n' : rawProblem();
  socket.end(answer, () => socket.destroy());
}

/** Warns that other machines can reach the API without TLS. */
function warnOfPlain(log: ApiParts['log'], publicUrl: string): void {
  log.warn(
    publicUrl.startsWith('https:')
      ? 'other machines can reach the API without TLS: make sure that only the proxy of SVC_PUBLIC_URL can reach it'
      : 'other machines can reach the API without TLS, so tokens can be read on the way: set SVC_TLS_CERT and SVC_TLS_KEY, or put a proxy in front of it',
  );
}

function malformed(): Problem {
  return new Problem('malformed-request', 'the request is not valid HTTP, or its headers are too long');
}

/** Makes the answer to bytes that are not HTTP. */
function rawProblem(): string {
  const body = JSON.stringify(malformed().document(randomUUID()));
  return `HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}
