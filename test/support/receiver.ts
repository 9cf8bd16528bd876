import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { endServer, listenOnLoopback } from './loopback-server.ts';
import { TIME_LIMITS } from './time-limits.ts';

export type ReceivedRequest = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The body as text. */
  text: string;
  /** The body as JSON; undefined: the body is no JSON. */
  json: unknown;
};

export type Receiver = {
  readonly url: string;
  /** All requests so far, in order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /**
   * Resolves with the first `count` requests when they have come.
   *
   * @throws Error when they have not come at the time limit of a poll
   */
  received(count: number): Promise<readonly ReceivedRequest[]>;
  /** Decides every following answer; the default answers 200 with an empty body. */
  answerWith(handler: (request: ReceivedRequest, response: ServerResponse) => void): void;
  close(): Promise<void>;
};

/** An HTTP server on loopback that keeps all requests. Without `onPort`, its port is a free one. */
export async function startReceiver(onPort = 0): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const waiting = new Set<{ count: number; resolve: () => void }>();
  let answer: (request: ReceivedRequest, response: ServerResponse) => void = (_request, response) =>
    response.end();

  const server = createServer((message, response) => {
    void readRequest(message).then((request) => {
      requests.push(request);
      for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();
      answer(request, response);
    });
  });
  const port = await listenOnLoopback(server, 511, onPort);

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async received(count) {
      if (requests.length < count) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, TIME_LIMITS.pollMs);
          const isThere = () => {
            clearTimeout(timer);
            resolve();
          };
          waiting.add({ count, resolve: isThere });
        });
      }
      if (requests.length < count) throw new Error(`${requests.length} of ${count} requests have come`);
      return requests.slice(0, count);
    },
    answerWith(handler) {
      answer = handler;
    },
    close: () => endServer(server),
  };
}

async function readRequest(message: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    text,
    json: parse(text),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON; the text is there.
  }
}
