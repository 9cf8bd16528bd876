import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** Listens with the smallest backlog and never accepts a connection. */
const LISTENER = `
  const { createServer } = require('node:net');
  const { parentPort } = require('node:worker_threads');
  const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** A connection that is not open after this time never opens, ms. */
const FULL_AFTER_MS = 150;

export type Blackhole = { host: string; port: number; close(): Promise<void> };

/**
 * An address on loopback that never answers a connection, neither with acceptance nor with refusal: a
 * listener whose backlog is full.
 */
export async function startBlackhole(): Promise<Blackhole> {
  const worker = new Worker(LISTENER, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  const fillers: Socket[] = [];
  while (await isAccepted(port, fillers)) {
    if (fillers.length > 64) throw new Error('the backlog does not fill on this machine');
  }
  return {
    host: '127.0.0.1',
    port,
    close: async () => {
      for (const filler of fillers) filler.destroy();
      await worker.terminate();
    },
  };
}

function isAccepted(port: number, fillers: Socket[]): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  fillers.push(socket);
  return new Promise((resolve) => {
    // A delayed thread handles the timer before it handles the connection.
    const timer = setTimeout(() => setImmediate(() => resolve(!socket.connecting)), FULL_AFTER_MS);
    socket.on('error', () => {});
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
