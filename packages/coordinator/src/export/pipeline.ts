import { gzipSync } from 'node:zlib';
import type { Clock } from '@svc/shared/clock.ts';
import { querySecrets } from '@svc/shared/masking/mask.ts';
import { pause } from '@svc/shared/waiting.ts';
import { type HttpPost, mergeHeaders, type PostResult } from '../outgoing/http-post.ts';
import { RETRY_AFTER_MAXIMUM_MS } from '../verdict/backoff.ts';
import { type Consequence, consequenceOf } from './answers.ts';
import type { Encoding, ExportSettings, ExportTarget } from './export-settings.ts';
import { type ExportedMonitor, joined, MetricsRequest } from './requests.ts';

/** An instant with what happened then. */
export type LastError = { readonly at: number; readonly message: string };

export type PipelineState = {
  readonly encoding: Encoding;
  /** Epoch ms; null: not yet. */
  readonly lastSuccessAt: number | null;
  readonly lastError: LastError | null;
  /** The last request was not taken; one that was refused for its encoding counts when the other one is refused too. */
  readonly isFailing: boolean;
  /** Points since the start of the pipeline. */
  readonly taken: number;
  readonly rejected: number;
  readonly dropped: number;
  /** The request that the endpoint has not taken yet: 1 or 0. */
  readonly bufferedRequests: number;
  readonly bufferedPoints: number;
  readonly bufferedBytes: number;
};

/** The answer of an endpoint to a test. */
export type TestAnswer = {
  readonly encoding: Encoding;
  readonly points: number;
  readonly verdict: Consequence;
};

type Request = {
  readonly body: Uint8Array;
  readonly encoding: Encoding;
  readonly points: number;
  /** When it was made, ms on the monotonic clock. */
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
  /** The ids of all exported monitors, those of a request at a time. */
  readonly batches: () => Iterable<readonly number[]>;
  /** What is exported of these monitors at this moment, those left out that are not exported here any more. */
  readonly read: (monitorIds: readonly number[]) => Promise<readonly ExportedMonitor[]>;
  /** Resolves when a piece of a request may be made. */
  readonly turn: () => Promise<void>;
  /** What is exported could not be read. */
  readonly onError: (error: unknown) => void;
};

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};
/** 3 takes a tenth longer for a twelfth less, and 6 three times as long for a fifth less. */
const GZIP_LEVEL = 1;
/** Points that are made and encoded in one turn of the event loop, which takes some 1 ms; one monitor may have some hundred more. */
const POINTS_PER_TURN = 250;
/** ms; the wait doubles with each try. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** Spreads first exports, so that endpoints are not all posted to at once, ms. */
const FIRST_WITHIN_MS = 5_000;

/**
 * Exports to one endpoint: at each interval all points, in one request after the other.
 *
 *     interval ──▶ make a request ──▶ post ── taken or refused ──▶ the next request
 *                    ▲                ▲ │
 *                    │                │ ├── retry ──▶ wait (growing, or as the endpoint says)
 *                    │                └─┼── younger than an interval ──┘│
 *                    ├── else ──────────┼───────────────────────────────┘
 *                    └── in the other ──┘ encoding refused
 *
 * A request that is not taken is sent again, and made anew from the present counts when it is an interval old. Nothing else is
 * kept. Temporality is cumulative, so what is dropped costs points in time and no counts. Nothing of it waits for another
 * endpoint.
 */
export class Pipeline {
  readonly #parts: Parts;
  readonly #secrets: readonly string[];
  readonly #stopping = new AbortController();
  #encoding: Encoding;
  /** The request that the endpoint has not taken yet. */
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
   * Exports until it is stopped.
   *
   * @param spread 0 to 1: when within the first seconds it begins
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

  /** The request that waits is dropped. */
  stop(): void {
    this.#stopping.abort();
    this.#drop();
  }

  /** Sends what is exported of some monitors now, beside the other requests. Answers the reply to each encoding. */
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

  /** Returns when the endpoint has taken or refused what is exported of these monitors. */
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
        // Bounded by what was sent, so that an endpoint cannot spoil our sums.
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
    // In memory of its own size: what zlib answers is a view on 16 KiB at least, and the body may be kept.
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
    // Headers about the form of the body are ours.
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
 * Gives the memory back at once. V8 counts memory that waits for the collection of garbage as growth of the heap, so that some
 * requests of a megabyte make it mark the whole heap.
 *
 * @param bytes all that lies in their buffer
 */
function release({ buffer }: Uint8Array): void {
  (buffer as ArrayBuffer).transfer(0);
}

function otherThan(encoding: Encoding): Encoding {
  return encoding === 'json' ? 'protobuf' : 'json';
}

/** @param afterMs as the endpoint asks; it only lengthens the wait */
function waitAfter(tries: number, afterMs: number | null): number {
  const growing = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(16, tries - 1));
  const spread = growing * (0.75 + Math.random() / 2);
  return Math.max(spread, Math.min(afterMs ?? 0, RETRY_AFTER_MAXIMUM_MS));
}

function secretsOf({ url, headers }: ExportTarget): string[] {
  return [...headers.map(({ value }) => value), ...querySecrets(new URL(url))].filter((text) => text !== '');
}
