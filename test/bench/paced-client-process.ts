/**
 * Requests one URL at a steady rate, whether answers come or not, like visitors,
 * who do not wait for each other. It is a process of its own. Arguments: URL,
 * requests a second, seconds. Prints one line of JSON at its end.
 *
 * The time of a request begins when the request is due, so a late answer also makes the requests
 * late that wait behind it. A request is sent over a free connection, or over a new one.
 */
import { connect, type Socket } from 'node:net';
import { percentile } from './process-usage.ts';

export type PacedFigures = {
  readonly answers: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly worst: number;
  /** Lateness of this process's own sending, p99, ms: it is part of the figures above. */
  readonly sending: number;
  readonly connections: number;
};

const WARM_UP_S = 2;
const EMPTY = Buffer.alloc(0);

const [target = '', rate = '2000', seconds = '30'] = process.argv.slice(2);
const { hostname, port, pathname, host } = new URL(target);
const REQUEST = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\nAccept-Language: en\r\n\r\n`;

const free: Connection[] = [];
let connections = 0;
let taken: number[] = [];
let sending: number[] = [];
let bytes = 0;

/** One connection, with one request at a time. */
class Connection {
  readonly #socket: Socket;
  #dueAt = 0;
  #received: Buffer = EMPTY;

  constructor() {
    connections += 1;
    this.#socket = connect({ port: Number(port), host: hostname });
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (data) => this.#take(data));
    this.#socket.on('error', (error) => fail(error.message));
    this.#socket.on('close', () => this.#end());
  }

  ask(dueAt: number): void {
    this.#dueAt = dueAt;
    this.#socket.write(REQUEST);
    sending.push(performance.now() - dueAt);
  }

  /** The server closes connections that are idle for long. */
  #end(): void {
    const at = free.indexOf(this);
    if (at === -1) fail('a connection was closed before its answer');
    free.splice(at, 1);
  }

  #take(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? Number.NaN);
    if (!head.startsWith('HTTP/1.1 200') || Number.isNaN(length)) fail(head);
    if (this.#received.length < headEnd + 4 + length) return;
    taken.push(performance.now() - this.#dueAt);
    bytes = length;
    this.#received = EMPTY;
    free.push(this);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Sends the due requests; it reads the clock about once a millisecond. */
function paced(rate: number, seconds: number): Promise<void> {
  const startedAt = performance.now();
  const total = rate * seconds;
  let sent = 0;
  return new Promise((resolve) => {
    const step = () => {
      const now = performance.now();
      for (; sent < total; sent += 1) {
        const dueAt = startedAt + (sent * 1_000) / rate;
        if (dueAt > now) break;
        (free.pop() ?? new Connection()).ask(dueAt);
      }
      if (sent < total) setTimeout(step, 1);
      else if (taken.length < total) setTimeout(step, 5);
      else resolve();
    };
    step();
  });
}

await paced(Number(rate), WARM_UP_S);
[taken, sending] = [[], []];
await paced(Number(rate), Number(seconds));
const figures: PacedFigures = {
  answers: taken.length,
  bytes,
  p50: percentile(taken, 0.5),
  p99: percentile(taken, 0.99),
  p999: percentile(taken, 0.999),
  worst: Math.max(...taken),
  sending: percentile(sending, 0.99),
  connections,
};
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit());
