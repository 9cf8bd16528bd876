import { gzipSync } from 'node:zlib';
import type { Clock } from '@svc/shared/clock.ts';
import { querySecrets } from '@svc/shared/masking/mask.ts';
import { pause } from '@svc/shared/waiting.ts';
import { type HttpPost, mergeHeaders, type PostResult } from '../outgoing/http-post.ts';
import { RETRY_AFTER_MAXIMUM_MS } from '../verdict/backoff.ts';
import { type Consequence, consequenceOf } from './answers.ts';
import type { Encoding, ExportSettings, ExportTarget } from './export-settings.ts';
import { type ExportedMonitor, joined, MetricsRequest } from './requests.ts';

/** The last error, with its instant (epoch ms). */
export type LastError = { readonly at: number; readonly message: string };

export type PipelineState = {
  readonly encoding: Encoding;
  /** When the endpoint last took a request, epoch ms; null: it has taken no request yet. */
  readonly lastSuccessAt: number | null;
  readonly lastError: LastError | null;
  /**
   * Whether the endpoint failed to take the last request. If the endpoint refuses only the encoding, this is
   * not counted as a failure until the endpoint refuses the other encoding too.
   */
  readonly isFailing: boolean;
  /** Numbers of points since the start of the pipeline: taken, rejected and dropped. */
  readonly taken: number;
  readonly rejected: number;
  readonly dropped: number;
  /** Number of requests that the endpoint has not taken yet: 1 or 0. */
  readonly bufferedRequests: number;
  readonly bufferedPoints: number;
  readonly bufferedBytes: number;
};

/** The answer of an endpoint to a test request. `encoding` is the encoding of the request. */
export type TestAnswer = {
  readonly encoding: Encoding;
  readonly points: number;
  readonly verdict: Consequence;
};

type Request = {
  readonly body: Uint8Array;
  readonly encoding: Encoding;
  readonly points: number;
  /** When the request was made, monotonic ms. */
  readonly madeAt: number;
};

type Parts = {
  readonly target: ExportTarget;
  readonly settings: Pick<
    ExportSettings,
    'encoding' | 'isCompressed' | 'histograms' | 'intervalMs' | 'resource'
  >;
  readonly post: HttpPost;
  readonly clock: Clock;
  /** The ids of the monitors that this endpoint gets, in one group for each request. */
  readonly batches: () => Iterable<readonly number[]>;
  /** Reads the present data of these monitors. A monitor that no longer uses this endpoint is left out. */
  readonly read: (monitorIds: readonly number[]) => Promise<readonly ExportedMonitor[]>;
  /** Resolves when the next piece of a request may be made. */
  readonly turn: () => Promise<void>;
  /** Called when data for the export cannot be read. */
  readonly onError: (error: unknown) => void;
};

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};
/**
 * Level of compression. Compared with level 1, level 3 takes 10 % longer and saves 8 % of
 * the bytes. Level 6 takes 200 % longer and saves 20 %.
 */
const GZIP_LEVEL = 1;
/**
 * Number of points at which a piece of a request is full. Each piece is made and
 * encoded in one turn of the event loop, which takes about 1 ms. The last monitor of a
 * piece may exceed the number by some hundred points.
 */
const POINTS_PER_TURN = 250;
/** First wait before a retry, ms. The wait doubles with each retry, and is varied by up to 25 %. */
const FIRST_WAIT_MS = 1_000;
/** Longest wait before it is varied, ms. An endpoint may ask for a longer wait. */
const LONGEST_WAIT_MS = 60_000;
/** Time over which first exports are spread, ms, so that svc does not post to all endpoints at once. */
const FIRST_WITHIN_MS = 5_000;

/**
 * Exports to one endpoint. At each interval it sends all points, one request after the other.
 *
 *     interval ──▶ make a request ──▶ post ── taken or refused ──▶ the next request
 *                    ▲                ▲ │
 *                    │                │ ├── retry ──▶ wait (growing, or as the endpoint says)
 *                    │                └─┼── younger than an interval ──┘│
 *                    ├── else ──────────┼───────────────────────────────┘
 *                    └── in the other ──┘ encoding refused
 *
 * If the endpoint cannot take a request now, the request is sent again. A request that is
 * as old as an interval is dropped, and a new request is made from the present counts. Only
 * one request is kept. Temporality is cumulative, so a dropped request loses points in
 * time, but no counts. A slow endpoint delays no other endpoint.
 */
export class Pipeline {
  readonly #parts: Parts;
  readonly #secrets: readonly string[];
  readonly #stopping = new AbortController();
  #encoding: Encoding;
  /** The request that the endpoint has not taken yet; null: there is no such request. */
  #unsent: Request | null = null;
  #state = {
    lastSuccessAt: null as number | null,
    lastError: null as LastError | null,
    isFailing: false,
    taken: 0,
    rejected: 0,
    dropped: 0,
  };

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#secrets = secretsOf(parts.target);
    this.#encoding = parts.settings.encoding;
  }

  get state(): PipelineState {
    return {
      ...this.#state,
      encoding: this.#encoding,
      bufferedRequests: Number(this.#unsent !== null),
      bufferedPoints: this.#unsent?.points ?? 0,
      bufferedBytes: this.#unsent?.body.length ?? 0,
    };
  }

  /**
   * Exports until {@link stop} is called.
   *
   * @param spread 0 to 1: place of the first export within
   *   {@link FIRST_WITHIN_MS}, or within the interval if that is shorter
   */
  async run(spread: number): Promise<void> {
    const { clock, settings, batches, onError } = this.#parts;
    const { intervalMs } = settings;
    const { signal } = this.#stopping;
    let dueAt = clock.monotonic() + spread * Math.min(FIRST_WITHIN_MS, intervalMs);
    while (!signal.aborted) {
      await pause(clock, Math.max(0, dueAt - clock.monotonic()), signal);
      try {
        for (const ids of batches()) await this.#export(ids);
      } catch (error) {
        onError(error);
      }
      dueAt = Math.max(dueAt + intervalMs, clock.monotonic());
    }
  }

  /** Stops the pipeline, and drops the request that the endpoint has not taken yet. */
  stop(): void {
    this.#stopping.abort();
    this.#drop();
  }

  /**
   * Sends the present data of some monitors now, beside the regular requests. Returns the answer for each
   * encoding that was tried.
   */
  async testNow(monitorIds: readonly number[]): Promise<TestAnswer[]> {
    const answers: TestAnswer[] = [];
    for (const encoding of [this.#encoding, otherThan(this.#encoding)]) {
      const request = await this.#make(monitorIds, encoding);
      const verdict = await this.#post(request);
      answers.push({ encoding, points: request.points, verdict });
      if (verdict.is !== 'other-encoding') break;
    }
    return answers;
  }

  /**
   * Exports these monitors. Resolves when the endpoint has taken or refused
   * their request, or when the pipeline is stopped.
   */
  async #export(monitorIds: readonly number[]): Promise<void> {
    const { clock, settings } = this.#parts;
    const { signal } = this.#stopping;
    let isOtherTried = false;
    for (let tries = 1; !signal.aborted; ) {
      const request = this.#unsent ?? (await this.#make(monitorIds, this.#encoding));
      this.#unsent = request;
      if (request.points === 0) break;
      const verdict = await this.#post(request);
      if (signal.aborted) return;
      const at = clock.wall();
      if (verdict.error !== null) this.#state.lastError = { at, message: verdict.error };
      if (verdict.is === 'taken') {
        // An endpoint may claim more rejected points than were sent.
        const rejected = Math.min(request.points, verdict.rejected);
        this.#state.taken += request.points - rejected;
        this.#state.rejected += rejected;
        this.#state.lastSuccessAt = at;
        this.#state.isFailing = false;
        break;
      }
      if (verdict.is === 'other-encoding' && !isOtherTried) {
        isOtherTried = true;
        this.#encoding = otherThan(request.encoding);
        this.#unsent = null;
        continue;
      }
      this.#state.isFailing = true;
      if (verdict.is !== 'retry') {
        this.#drop();
        break;
      }
      await pause(clock, waitAfter(tries, verdict.afterMs), signal);
      if (!signal.aborted && clock.monotonic() - request.madeAt >= settings.intervalMs) this.#drop();
      tries += 1;
    }
    this.#unsent = null;
  }

  #drop(): void {
    this.#state.dropped += this.#unsent?.points ?? 0;
    this.#unsent = null;
  }

  async #make(monitorIds: readonly number[], encoding: Encoding): Promise<Request> {
    const { clock, settings, read, turn } = this.#parts;
    const monitors = [...(await read(monitorIds))].reverse();
    const bodies: Uint8Array[] = [];
    let points = 0;
    do {
      await turn();
      const piece = new MetricsRequest({ ...settings, at: clock.wall() });
      while (piece.points < POINTS_PER_TURN && monitors.length > 0)
        piece.add(monitors.pop() as ExportedMonitor);
      bodies.push(piece.encoded(encoding));
      points += piece.points;
    } while (monitors.length > 0);
    await turn();
    const whole = joined(bodies, encoding);
    // zlib returns a view on a buffer of at least 16 KiB. The copy has a buffer of its
    // exact size, because the body may be kept for long.
    const body = settings.isCompressed ? new Uint8Array(gzipSync(whole, { level: GZIP_LEVEL })) : whole;
    for (const used of [...bodies, whole]) if (used !== body) release(used);
    return { body, encoding, points, madeAt: clock.monotonic() };
  }

  async #post({ body, encoding }: Request): Promise<Consequence> {
    const { target, post, settings } = this.#parts;
    const ours = {
      'content-type': CONTENT_TYPES[encoding],
      'user-agent': 'svc',
      ...(settings.isCompressed ? { 'content-encoding': 'gzip' } : {}),
    };
    // Declared headers cannot replace the headers that describe the body.
    const theirs = target.headers.filter(({ key }) => !/^content-(?:type|encoding)$/i.test(key));
    const result: PostResult = await post({
      url: target.url,
      headers: mergeHeaders(ours, theirs),
      body,
      secrets: this.#secrets,
      signal: this.#stopping.signal,
    });
    return consequenceOf(result, encoding, this.#secrets);
  }
}

/**
 * Frees the memory of `bytes` at once. V8 counts buffers that wait for garbage collection as growth of the
 * heap, so a few requests of a megabyte would make it mark the whole heap.
 *
 * @param bytes view on a whole buffer
 */
function release({ buffer }: Uint8Array): void {
  (buffer as ArrayBuffer).transfer(0);
}

function otherThan(encoding: Encoding): Encoding {
  return encoding === 'json' ? 'protobuf' : 'json';
}

/**
 * Returns the wait before the next try, ms.
 *
 * @param tries number of tries so far
 * @param afterMs the wait that the endpoint asks for, ms; null: it asks for none. It counts
 *   only if it is longer than the usual wait, and up to {@link RETRY_AFTER_MAXIMUM_MS}
 */
function waitAfter(tries: number, afterMs: number | null): number {
  const growing = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(16, tries - 1));
  const spread = growing * (0.75 + Math.random() / 2);
  return Math.max(spread, Math.min(afterMs ?? 0, RETRY_AFTER_MAXIMUM_MS));
}

function secretsOf({ url, headers }: ExportTarget): string[] {
  return [...headers.map(({ value }) => value), ...querySecrets(new URL(url))].filter((text) => text !== '');
}
