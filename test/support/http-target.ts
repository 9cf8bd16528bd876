import { createServer, type ServerResponse } from 'node:http';
import { endServer, listenOnLoopback } from './loopback-server.ts';

export type HttpTarget = {
  readonly url: string;
  readonly port: number;
  /** Requests answered so far. */
  readonly hits: number;
  /** Sets the handler of all following requests. Without a handler, the answer is 200 `ok`. */
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
  const port = await listenOnLoopback(server, 4_096);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get hits() {
      return hits;
    },
    answerWith(handler) {
      answer = handler;
    },
    close: () => endServer(server),
  };
}
