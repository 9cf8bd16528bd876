import type { Encoding } from './request-encoder.ts';

/** A request that waits to be taken. */
export type BufferedRequest = {
  /** Encoded and compressed, or a log of points that is compressed. */
  readonly body: Uint8Array;
  /** Null: `body` is a log, which is encoded when it is the oldest. */
  readonly encoding: Encoding | null;
  readonly points: number;
  /** When it was encoded, ms on the monotonic clock. */
  readonly at: number;
  /** Which collection it is of. */
  readonly collection: number;
};

export type EncodedRequest = BufferedRequest & { readonly encoding: Encoding };

export function isEncoded(request: BufferedRequest): request is EncodedRequest {
  return request.encoding !== null;
}

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
   * Puts an encoded request in the place of the oldest one, which is a log.
   *
   * @returns the oldest one
   */
  encodeOldest(body: Uint8Array, encoding: Encoding): EncodedRequest {
    const log = this.#requests[0] as BufferedRequest;
    const request = { ...log, body, encoding };
    this.bytes += body.length - log.body.length;
    this.#requests[0] = request;
    return request;
  }

  /**
   * Takes out all requests in this encoding.
   *
   * @param collection which is made again; null: none is
   * @returns points of all other collections
   */
  clear(encoding: Encoding, collection: number | null): number {
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
