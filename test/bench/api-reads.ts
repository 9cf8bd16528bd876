import { Agent, get } from 'node:http';
import type { System } from '../support/system.ts';

/** Interval at which each of the two reads begins, ms. */
const EVERY_MS = 50;
/** Maximum number of reads that wait for their answers; beyond this number none are begun. */
const MOST_WAITING = 1_000;

/** How long reads took, ms. */
export type ReadTimes = { readonly list: readonly number[]; readonly one: readonly number[] };

/**
 * Reads a list of monitors and one monitor over kept connections, again and again. The time of a read begins
 * when it is due, so that the wait for a connection counts.
 */
export class ApiReads {
  readonly #list: Reads;
  readonly #one: Reads;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2 });
  readonly #timer: NodeJS.Timeout;

  constructor({ url, token }: System, monitorId: number) {
    const headers = { authorization: `Bearer ${token}` };
    const options = { agent: this.#agent, headers };
    this.#list = new Reads((onEnd) => get(`${url}/v1/monitors?limit=100`, options, onEnd));
    this.#one = new Reads((onEnd) => get(`${url}/v1/monitors/${monitorId}`, options, onEnd));
    this.#timer = setInterval(() => {
      this.#list.begin();
      this.#one.begin();
    }, EVERY_MS);
  }

  /** Times of the reads answered since the last call. Reads that still wait count with their time so far. */
  take(): ReadTimes {
    return { list: this.#list.take(), one: this.#one.take() };
  }

  /** Resolves when the reads that wait now are answered. */
  async settled(): Promise<void> {
    await Promise.all([this.#list.settled(), this.#one.settled()]);
  }

  /** Gives up the waiting reads. */
  stop(): void {
    clearInterval(this.#timer);
    this.#list.stop();
    this.#one.stop();
    this.#agent.destroy();
  }
}

type Get = (onResponse: Parameters<typeof get>[2]) => ReturnType<typeof get>;

class Reads {
  readonly #get: Get;
  #answered: number[] = [];
  /** The reads that wait: when each began, monotonic ms, by the promise of its end. */
  readonly #waiting = new Map<Promise<void>, number>();
  #isStopped = false;

  constructor(send: Get) {
    this.#get = send;
  }

  begin(): void {
    if (this.#waiting.size >= MOST_WAITING) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = this.#get((response) => {
      response.resume();
      response.once('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`GET ${request.path} answered ${response.statusCode}`));
      });
    });
    request.once('error', (error) => (this.#isStopped ? resolve() : reject(error)));
    const from = performance.now();
    const answered = promise.then(() => {
      this.#waiting.delete(answered);
      this.#answered.push(performance.now() - from);
    });
    this.#waiting.set(answered, from);
  }

  take(): readonly number[] {
    const now = performance.now();
    const times = [...this.#answered, ...[...this.#waiting.values()].map((from) => now - from)];
    this.#answered = [];
    return times;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#waiting.keys());
  }

  stop(): void {
    this.#isStopped = true;
  }
}
