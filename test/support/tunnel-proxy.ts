import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export type TunnelProxy = {
  readonly url: string;
  /** `host:port` of every tunnel asked for so far. */
  readonly asked: readonly string[];
  close(): Promise<void>;
};

/** An HTTP proxy on a free loopback port whose tunnels all lead to one port of loopback, whatever they ask for. */
export async function startTunnelProxy(toPort: number): Promise<TunnelProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', ({ url = '' }, client: Socket) => {
    asked.push(url);
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
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
