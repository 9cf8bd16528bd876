import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { endServer, listenOnLoopback } from '../loopback-server.ts';

export type ForwardedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
};

/** The fate of a request; null: it is forwarded and answered. */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Forwarded, and the answer is lost with the connection. */
  | 'swallow'
  /** Forwarded, and the answer waits for this. */
  | { readonly until: Promise<void> }
  | null;

export type FaultyProxy = {
  readonly url: string;
  readonly requests: readonly ForwardedRequest[];
  /** Decides what happens to every following request. */
  failing(decide: (request: ForwardedRequest) => Fault): void;
  close(): Promise<void>;
};

/** An HTTP proxy before the API that fails as it is told. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const requests: ForwardedRequest[] = [];
  let decide: (request: ForwardedRequest) => Fault = () => null;
  const server = createServer((message, response) => {
    void pass(message, response).catch(() => response.destroy());
  });

  async function pass(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(message);
    const request = { method: message.method ?? '', path: message.url ?? '', headers: message.headers };
    requests.push(request);
    const fault = decide(request);
    if (fault !== null && fault !== 'swallow' && 'status' in fault) {
      response.writeHead(fault.status, fault.headers);
      response.end();
      return;
    }
    const answer = await forwarded(target, request, body);
    if (fault === 'swallow') {
      message.socket.destroy();
      return;
    }
    if (fault !== null) await fault.until;
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  }

  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    failing(next) {
      decide = next;
    },
    close: () => endServer(server),
  };
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function forwarded(target: string, { method, path, headers }: ForwardedRequest, body: Buffer) {
  const own = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'expect']);
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && !own.has(name) ? [[name, value]] : [],
  );
  const response = await fetch(`${target}${path}`, {
    method,
    headers: passed,
    ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
  });
  const answered = ['content-type', 'location', 'etag', 'retry-after'].flatMap((name): [string, string][] => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return {
    status: response.status,
    headers: Object.fromEntries(answered),
    body: Buffer.from(await response.arrayBuffer()),
  };
}
