import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { endServer, listenOnLoopback } from './loopback-server.ts';

export type ProxiedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
};

/**
 * What the proxy does with a request. `pass`: it passes the request on.
 * `swallow`: it drops the answer, so the client sees a broken connection. `hold`:
 * it holds the answer until it is released. Or it sends an answer of its own.
 */
export type Treatment =
  | 'pass'
  | 'swallow'
  | { readonly hold: Promise<unknown> }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** The API's answer is passed on with this body. */
  | { readonly body: string };

export type ApiProxy = {
  readonly url: string;
  /** The requests so far, in order of arrival. */
  readonly requests: readonly ProxiedRequest[];
  /** Resolves with the first `count` requests when they have come. */
  received(count: number): Promise<readonly ProxiedRequest[]>;
  /** Decides on every following request. */
  treat(decide: (request: ProxiedRequest) => Treatment): void;
  close(): Promise<void>;
};

/** Starts a proxy on a free loopback port in front of a real API. A test can make the proxy misbehave. */
export async function startApiProxy(target: string): Promise<ApiProxy> {
  const requests: ProxiedRequest[] = [];
  const waiting = new Set<() => void>();
  let decide: (request: ProxiedRequest) => Treatment = () => 'pass';

  const server = createServer((incoming, response) => {
    const { method = '', url: path = '', headers } = incoming;
    const request = { method, path, headers };
    requests.push(request);
    for (const wake of waiting) wake();
    void treated(decide(request), target, incoming, response).catch(() => response.destroy());
  });
  const port = await listenOnLoopback(server);

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async received(count) {
      while (requests.length < count) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
      return requests.slice(0, count);
    },
    treat(next) {
      decide = next;
    },
    close: () => endServer(server),
  };
}

async function treated(
  treatment: Treatment,
  target: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (typeof treatment === 'object' && 'status' in treatment) {
    incoming.resume();
    response.writeHead(treatment.status, treatment.headers);
    response.end(treatment.body ?? '');
    return;
  }
  const outgoing = forward(`${target}${incoming.url}`, {
    method: incoming.method,
    headers: incoming.headers,
  });
  incoming.pipe(outgoing);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (treatment === 'swallow') {
    answer.resume();
    await once(answer, 'end');
    response.destroy();
    return;
  }
  if (typeof treatment === 'object' && 'hold' in treatment) await treatment.hold;
  if (typeof treatment === 'object' && 'body' in treatment) {
    answer.resume();
    const { 'content-length': _length, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 0, headers);
    response.end(treatment.body);
    return;
  }
  response.writeHead(answer.statusCode ?? 0, answer.headers);
  answer.pipe(response);
}
