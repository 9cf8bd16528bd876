import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * The program of the target's thread. It takes HTTP requests and DNS questions, on
 * one port each, reports each of them, and answers on demand. It reports through
 * shared memory, so that a thread which runs nothing else can wait for the report.
 */
const TARGET = `
  const { createServer } = require('node:net');
  const { createSocket } = require('node:dgram');
  const { parentPort, workerData } = require('node:worker_threads');
  const state = new Int32Array(workerData);
  const asked = (answer) => {
    parentPort.postMessage('asked');
    Atomics.wait(state, 0, 0);
    answer(() => {
      Atomics.store(state, 0, 2);
      Atomics.notify(state, 0);
    });
  };
  const tcp = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () =>
      asked((done) => socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok', done)));
  });
  const udp = createSocket('udp4');
  let isAnswered = false;
  udp.on('message', (question, from) => {
    if (isAnswered) return;
    isAnswered = true;
    // The answer has no records. It repeats the question, with QR
    // set and RCODE 0, and leaves out what follows the question.
    const end = question.indexOf(0, 12) + 5;
    const answer = Buffer.from(question.subarray(0, end));
    answer.writeUInt16BE(0x8180, 2);
    answer.writeUInt16BE(0, 10);
    asked((done) => udp.send(answer, from.port, from.address, done));
  });
  tcp.listen(0, '127.0.0.1', () =>
    udp.bind(0, '127.0.0.1', () => parentPort.postMessage([tcp.address().port, udp.address().port])));
`;

export type LateTarget = {
  readonly tcpPort: number;
  readonly udpPort: number;
  /**
   * Resolves when the next request or question has come.
   * The target then waits for {@link answerBehindOurBack}.
   */
  asked(): Promise<void>;
  /** Blocks this thread until the target has answered and `ms` have passed. Nothing is read in this time. */
  answerBehindOurBack(ms: number): void;
  close(): Promise<void>;
};

/**
 * Starts a target in a thread of its own. Its answers
 * arrive while the event loop of this thread stands still.
 */
export async function startLateTarget(): Promise<LateTarget> {
  const memory = new SharedArrayBuffer(4);
  const state = new Int32Array(memory);
  const worker = new Worker(TARGET, { eval: true, workerData: memory });
  const [[tcpPort, udpPort]] = (await once(worker, 'message')) as [[number, number]];
  return {
    tcpPort,
    udpPort,
    async asked() {
      await once(worker, 'message');
    },
    answerBehindOurBack(ms) {
      Atomics.store(state, 0, 1);
      Atomics.notify(state, 0);
      Atomics.wait(state, 0, 1);
      block(ms);
    },
    async close() {
      await worker.terminate();
    },
  };
}

/** Blocks this thread, its timers and its sockets. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
