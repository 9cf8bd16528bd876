import type { Encoding } from './request-encoder.ts';

/** A request that is encoded and compressed, and waits to be taken. */
export type BufferedRequest = {
  readonly body: Uint8Array;
  readonly encoding: Encoding;
  readonly points: number;
  /** When it was encoded, ms on the monotonic clock. */
  readonly at: number;
  /** Which collection it is of. */
  readonly collection: number;
};

/** Compressed bytes that an endpoint's requests may take. */
const MOST_BYTES = 4 * 1_024 * 1_024;
/** The same of all endpoints, which share it where they are many. */
const MOST_BYTES_OF_ALL = 256 * 1_024 * 1_024;
/** Older points are of no use to most receivers, ms. */
const OLDEST_MS = 3_600_000;

/**
 * The requests that an endpoint has not accepted yet, oldest first. Beyond the bounds the oldest ones are dropped.
 * Counts are cumulative, so later points include the dropped ones.
 */
export class RequestBuffer {
  points = 0;
  bytes = 0;
  readonly #requests: BufferedRequest[] = [];

  get length(): number {
    return this.#requests.length;
  }

  get oldest(): BufferedRequest | null {
    return this.#requests[0] ?? null;
  }

  /**
   * @param endpoints how many there are: they share the memory
   * @returns points that were dropped for it
   */
  push(request: BufferedRequest, endpoints: number): number {
    this.#add(request);
    const mostBytes = Math.min(MOST_BYTES, MOST_BYTES_OF_ALL / endpoints);
    let dropped = 0;
    while (this.#requests.length > 1 && this.#isBeyond(request.at, mostBytes))
      dropped += this.shift()?.points ?? 0;
    return dropped;
  }

  shift(): BufferedRequest | null {
    const request = this.#requests.shift() ?? null;
    if (request !== null) {
      this.points -= request.points;
      this.bytes -= request.body.length;
    }
    return request;
  }

  /**
   * Takes out all requests in this encoding.
   *
   * @returns points of all collections but this one, which is made again
   */
  clear(encoding: Encoding, collection: number): number {
    const kept = this.#requests.filter((request) => request.encoding !== encoding);
    let others = 0;
    for (let request = this.shift(); request !== null; request = this.shift()) {
      if (request.encoding === encoding && request.collection !== collection) others += request.points;
    }
    for (const request of kept) this.#add(request);
    return others;
  }

  #add(request: BufferedRequest): void {
    this.#requests.push(request);
    this.points += request.points;
    this.bytes += request.body.length;
  }

  #isBeyond(now: number, mostBytes: number): boolean {
    return this.bytes > mostBytes || now - (this.oldest?.at ?? now) > OLDEST_MS;
  }
}
