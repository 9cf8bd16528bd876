import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** The behaviour of a raw target on a connection, after the head of the request has come. */
export type Behaviour = (socket: Socket, requestHead: string) => void;

export type RawTarget = {
  readonly url: string;
  readonly port: number;
  /** Request heads seen so far, in order. */
  readonly requests: readonly string[];
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
  close(): Promise<void>;
};

/** A TCP server on a free loopback port. It reads a request's head, and then behaves as the test decides. */
export async function startRawTarget(behaviour: Behaviour): Promise<RawTarget> {
  const open = new Set<Socket>();
  const requests: string[] = [];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket);
    socket.on('close', () => {
      open.delete(socket);
      server.emit('connection-closed');
    });
    // Probes cut connections off, and this is what the tests are about.
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    let head = '';
    const read = (bytes: Buffer) => {
      head += bytes.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.off('data', read);
      socket.resume();
      requests.push(head);
      behaviour(socket, head);
    };
    socket.on('data', read);
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async idle() {
      while (open.size > 0) await once(server, 'connection-closed');
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answers with exactly these bytes and closes the connection. */
export function answer(bytes: string | Buffer): Behaviour {
  return (socket) => socket.end(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
}

/** Sends `start`, then `piece` every `everyMs` until the other side goes. */
export function drip(start: string, piece: string, everyMs: number): Behaviour {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(piece), everyMs);
    socket.on('close', () => clearInterval(timer));
  };
}

/** Sends `start`, then `piece` as fast as the other side reads it. */
export function flood(start: string, piece: string | Buffer): Behaviour {
  return (socket) => {
    const bytes = Buffer.concat(Array.from({ length: 64 }, () => Buffer.from(piece)));
    const send = () => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.write(start);
    socket.on('drain', send);
    send();
  };
}

/** Sends these bytes and resets the connection. Bytes that were sent before the reset arrive. */
export function sendAndReset(bytes: string | Buffer): Behaviour {
  return (socket) => {
    socket.write(bytes, () => setImmediate(() => socket.resetAndDestroy()));
  };
}
