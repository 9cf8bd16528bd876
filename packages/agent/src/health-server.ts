import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROMETHEUS_TYPE, prometheusText } from '@svc/shared/metrics/prometheus.ts';
import type { Measurement } from '@svc/shared/metrics/values.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { ListenAddress } from '@svc/shared/settings/setting-schemas.ts';

export type HealthServerParts = {
  listen: ListenAddress;
  /** Bearer token that `/metrics` requires; undefined: it requires none. The other paths never do. */
  metricsToken: Secret | undefined;
  /** Whether the agent is connected and takes jobs. */
  isReady: () => boolean;
  /** The measurements that `/metrics` shows. */
  measurements: () => readonly Measurement[];
};

type Page = { status: number; text: string; headers?: Record<string, string> };

const PLAIN = 'text/plain; charset=utf-8';

/**
 * Serves three paths: `/healthz` (the process works), `/readyz`
 * (the agent is connected and takes jobs) and `/metrics`.
 */
export class HealthServer {
  readonly #parts: HealthServerParts;
  readonly #server: Server;

  constructor(parts: HealthServerParts) {
    this.#parts = parts;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.requestTimeout = 5_000;
    this.#server.headersTimeout = 5_000;
    this.#server.maxConnections = 64;
  }

  /** Starts to listen. Rejects when the address cannot be bound. */
  async start(): Promise<void> {
    const { host, port } = this.#parts.listen;
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
  }

  /** The port that the server listens on. Read it only while the server listens. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { status, text, headers } = this.#pageFor(request);
    // The request's body is not read, so the connection is closed after the answer.
    response.writeHead(status, { 'Content-Type': PLAIN, Connection: 'close', ...headers }).end(text);
  }

  #pageFor(request: IncomingMessage): Page {
    const { isReady, measurements } = this.#parts;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { status: 405, text: 'only GET and HEAD are allowed\n', headers: { Allow: 'GET, HEAD' } };
    }
    switch (request.url) {
      case '/healthz':
        return { status: 200, text: 'ok\n' };
      case '/readyz':
        return isReady() ? { status: 200, text: 'ok\n' } : { status: 503, text: 'not ready\n' };
      case '/metrics':
        return this.#isAuthorized(request)
          ? {
              status: 200,
              text: prometheusText(measurements()),
              headers: { 'Content-Type': PROMETHEUS_TYPE },
            }
          : {
              status: 401,
              text: 'a valid bearer token is required\n',
              headers: { 'WWW-Authenticate': 'Bearer' },
            };
      default:
        return { status: 404, text: 'this path does not exist\n' };
    }
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const { metricsToken } = this.#parts;
    if (metricsToken === undefined) return true;
    const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    return timingSafeEqual(digest(given), digest(metricsToken.reveal()));
  }
}

/** Hashes a text. The constant-time comparison needs two inputs of the same length. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
