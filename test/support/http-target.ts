import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type HttpTarget = {
  readonly url: string;
  readonly port: number;
  /** Requests answered so far. */
  readonly hits: number;
  /** Decides every following answer; the default answers 200 `ok`. */
  answerWith(handler: (response: ServerResponse, path: string) => void): void;
  close(): Promise<void>;
};

/** An HTTP target on a free loopback port whose behaviour a test changes. */
export async function startHttpTarget(): Promise<HttpTarget> {
  const well = (response: ServerResponse) => response.end('ok\n');
  let answer: (response: ServerResponse, path: string) => void = well;
  let hits = 0;
  const server = createServer({ keepAlive: false }, (request, response) => {
    hits += 1;
    request.resume();
    answer(response, request.url ?? '');
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get hits() {
      return hits;
    },
    answerWith(handler) {
      answer = handler;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
