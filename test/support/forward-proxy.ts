import { once } from 'node:events';
import { createServer, request as requestFrom } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export type ForwardProxy = {
  readonly url: string;
  /** The requested targets so far: `host:port` for a tunnel, else the whole address. */
  readonly asked: readonly string[];
  /** The distinct values of `Proxy-Authorization`; undefined: a request for a tunnel without it. */
  readonly authorizations: ReadonlySet<string | undefined>;
  close(): Promise<void>;
};

/** An HTTP proxy on a free loopback port. Every request and tunnel leads to one port of loopback. */
export async function startForwardProxy(toPort: number): Promise<ForwardProxy> {
  const asked: string[] = [];
  const authorizations = new Set<string | undefined>();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const { url = '', method, headers } = request;
    asked.push(url);
    const path = url.replace(/^http:\/\/[^/]*/, '');
    const passedOn = requestFrom({ host: '127.0.0.1', port: toPort, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passedOn.on('error', () => response.destroy());
    request.pipe(passedOn);
  });
  server.on('connect', ({ url = '', headers }, client: Socket) => {
    asked.push(url);
    authorizations.add(headers['proxy-authorization']);
    const target = connect(toPort, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    authorizations,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
