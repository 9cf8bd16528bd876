import type { Clock } from '@svc/shared/clock.ts';
import { querySecrets } from '@svc/shared/masking/mask.ts';
import { pause } from '@svc/shared/pause.ts';
import { RETRY_AFTER_MAXIMUM_MS } from '../domain/backoff.ts';
import { type HttpPost, mergeHeaders, type PostResult } from '../outgoing/http-post.ts';
import { type Consequence, consequenceOf, readsProtobuf } from './answers.ts';
import { EncodingChoice, otherThan } from './encoding-choice.ts';
import { gunzipped, gzipped } from './gzipped.ts';
import { type EncodedRequest, isEncoded, RequestBuffer } from './request-buffer.ts';
import { CONTENT_TYPES, type CollectedForm, type Encoding } from './request-encoder.ts';

/** The destination of the metrics of some monitors. */
export type ExportTarget = {
  /** Of endpoint, headers and workspace: a pipeline each. */
  readonly key: string;
  /** The full URL. */
  readonly url: string;
  readonly headers: readonly { readonly key: string; readonly value: string }[];
  /** Null: the operator's own, which the guard lets pass. */
  readonly workspaceId: number | null;
  /** The one that is tried first. */
  readonly encoding: Encoding;
  /** Nobody has set the encoding. */
  readonly isEncodingOpen: boolean;
  readonly isCompressed: boolean;
};

/** An instant with what happened then. */
export type LastError = { readonly at: number; readonly message: string };

export type PipelineState = {
  readonly encoding: Encoding;
  /** Epoch ms; null: not yet. */
  readonly lastSuccessAt: number | null;
  readonly lastError: LastError | null;
  /** The last request was not taken; one that was refused for its encoding counts when the other one is refused too. */
  readonly isFailing: boolean;
  /** Points since the start of the process. */
  readonly taken: number;
  readonly rejected: number;
  readonly dropped: number;
  readonly bufferedRequests: number;
  readonly bufferedPoints: number;
  readonly bufferedBytes: number;
};

/** A body as the encoders make it; it is compressed, or copied, before the next is asked for. */
export type Collected = { readonly body: Uint8Array; readonly points: number };

type Parts = {
  readonly target: ExportTarget;
  readonly post: HttpPost;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** How many endpoints there are: their buffers share the memory. */
  readonly endpoints: () => number;
  /** The exported points at this moment, in requests, or logs of requests, of a bounded size. */
  readonly collect: (form: CollectedForm) => Iterable<Collected>;
  /** The request of a log. */
  readonly encode: (log: Uint8Array, encoding: Encoding) => Uint8Array;
};

/** ms; the wait doubles with each try. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** Requests that wait while one is sent: more are not made until there is room. */
const MOST_AHEAD = 2;
/** Spreads first exports, so that endpoints are not all posted to at once, ms. */
const FIRST_WITHIN_MS = 5_000;
const noState = {
  lastSuccessAt: null as number | null,
  lastError: null as LastError | null,
  isFailing: false,
  taken: 0,
  rejected: 0,
  dropped: 0,
};

/**
 * Exports to one endpoint: collects at each interval, sends one request at a time, and keeps requests that are not
 * accepted.
 *
 *     interval ──▶ collect ──▶ buffer ──▶ send ── taken ──▶ next
 *                     ▲                    │ ├── retry ──▶ wait (growing, or as the endpoint says) ──▶ send
 *                     └─ other encoding ───┘ └── refused ──▶ dropped, next
 *
 * Which encoding: {@link EncodingChoice}. While the endpoint is not there, later collections are kept as logs, because most of them
 * are dropped in the end, or are sent in another encoding.
 *
 * Nothing of it waits for another endpoint. Temporality is cumulative, so what is dropped costs points in
 * time and no counts.
 */
export class Pipeline {
  readonly target: ExportTarget;
  readonly #parts: Parts;
  readonly #buffer = new RequestBuffer();
  readonly #headers: readonly { readonly key: string; readonly value: string }[];
  readonly #secrets: readonly string[];
  readonly #stopping = new AbortController();
  readonly #choice: EncodingChoice;
  #state = noState;
  #changes = 0;
  /** Tries of the oldest request. */
  #tries = 0;
  #isSending = false;
  /** What the collection under way makes; null: none is. */
  #collecting: CollectedForm | null = null;
  /** Counts the collections; one is counted again in another encoding. */
  #collection = 0;
  /** The encoding was changed for what is collected now. */
  #hasChanged = false;
  #cancelTimers: () => void = () => {};
  #onRoom: () => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
    this.target = parts.target;
    this.#headers = parts.target.headers;
    this.#secrets = secretsOf(parts.target);
    this.#choice = new EncodingChoice(parts.target.encoding, parts.target.isEncodingOpen);
  }

  /** Grows with each change of {@link state}. */
  get changes(): number {
    return this.#changes;
  }

  get state(): PipelineState {
    const { length: bufferedRequests, points: bufferedPoints, bytes: bufferedBytes } = this.#buffer;
    const encoding = this.#choice.current;
    return { ...this.#state, encoding, bufferedRequests, bufferedPoints, bufferedBytes };
  }

  /** @param spread 0 to 1: when within the first seconds it begins */
  start(spread: number): void {
    const { clock, intervalMs } = this.#parts;
    const cancelFirst = clock.after(spread * Math.min(FIRST_WITHIN_MS, intervalMs), () => {
      void this.#collect();
      this.#cancelTimers = clock.every(intervalMs, () => void this.#collect());
    });
    this.#cancelTimers = cancelFirst;
  }

  /** Waiting requests are dropped. */
  stop(): void {
    this.#stopping.abort();
    this.#cancelTimers();
    this.#count({ dropped: this.#buffer.points });
    while (this.#buffer.shift() !== null);
    this.#onRoom();
  }

  /**
   * Sends the points of `collect` now, in a request beside the others. Answers the reply of the endpoint to each
   * encoding.
   */
  async test(
    collect: (encoding: Encoding) => Collected,
  ): Promise<{ encoding: Encoding; verdict: Consequence }[]> {
    const answers: { encoding: Encoding; verdict: Consequence }[] = [];
    const { current } = this.#choice;
    for (const encoding of [current, otherThan(current)]) {
      const body = this.#compressed(collect(encoding).body);
      const verdict = consequenceOf(await this.#post(body, encoding), encoding, this.#secrets);
      answers.push({ encoding, verdict });
      if (verdict.is !== 'other-encoding') break;
    }
    return answers;
  }

  /** A collection that is under way at the next interval is not begun a second time. */
  async #collect(isAgain = false): Promise<void> {
    if (this.#collecting !== null) return;
    const isLogged = !isAgain && this.#tries > 0;
    if (!isAgain) this.#hasChanged = false;
    if (!isAgain && !isLogged) this.#choice.begin();
    this.#collection += 1;
    let form: CollectedForm = isLogged ? 'log' : this.#choice.current;
    this.#collecting = form;
    let requests = this.#parts.collect(form)[Symbol.iterator]();
    for (;;) {
      const next = requests.next();
      if (next.done === true || this.#stopping.signal.aborted) break;
      const { body, points } = next.value;
      const request = {
        body: form === 'log' ? gzipped(body) : this.#compressed(body),
        encoding: form === 'log' ? null : form,
        points,
        at: this.#parts.clock.monotonic(),
        collection: this.#collection,
      };
      this.#changes += 1;
      this.#count({ dropped: this.#buffer.push(request, this.#parts.endpoints()) });
      this.#send();
      await this.#room();
      if (form === 'log' || this.#choice.current === form) continue;
      // The endpoint refused the encoding: all of it again in the other one.
      form = this.#choice.current;
      requests = this.#parts.collect(form)[Symbol.iterator]();
    }
    this.#collecting = null;
  }

  /** Resolves when the next request is to be made: at once while the endpoint fails, as the buffer is bounded. */
  async #room(): Promise<void> {
    // A turn for other endpoints in any case.
    await new Promise<void>((resume) => setImmediate(resume));
    while (this.#isSending && this.#tries === 0 && this.#buffer.length >= MOST_AHEAD) {
      await new Promise<void>((resume) => {
        this.#onRoom = resume;
      });
    }
  }

  #send(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    void this.#sendAll().then(() => {
      this.#isSending = false;
      this.#onRoom();
    });
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#oldest(); next !== null; next = this.#oldest()) {
      const verdict = consequenceOf(await this.#post(next.body, next.encoding), next.encoding, this.#secrets);
      if (this.#stopping.signal.aborted) return;
      const waitMs = this.#settle(next, verdict);
      this.#onRoom();
      if (waitMs > 0) await pause(this.#parts.clock, waitMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
    }
  }

  /** The oldest request. A log is encoded when its turn has come. */
  #oldest(): EncodedRequest | null {
    const { oldest } = this.#buffer;
    if (oldest === null || isEncoded(oldest)) return oldest;
    const encoding = this.#choice.current;
    const body = this.#parts.encode(gunzipped(oldest.body), encoding);
    return this.#buffer.encodeOldest(this.#compressed(body), encoding);
  }

  /** @returns ms to wait before the next try */
  #settle(request: EncodedRequest, verdict: Consequence): number {
    const at = this.#parts.clock.wall();
    this.#changes += 1;
    if (verdict.error !== null) this.#state = { ...this.#state, lastError: { at, message: verdict.error } };
    switch (verdict.is) {
      case 'taken':
        if (this.#taken(request)) this.#countTaken(request.points, verdict.rejected);
        this.#state = { ...this.#state, lastSuccessAt: at, isFailing: false };
        if (this.#choice.taken(request.encoding, verdict.error === null)) void this.#ask();
        return 0;
      case 'retry': {
        this.#state = { ...this.#state, isFailing: true };
        this.#tries += 1;
        const waitMs = this.#waitAfter(verdict.afterMs);
        if (this.#choice.isTrial(request.encoding)) this.#trialMissed(request);
        return waitMs;
      }
      case 'other-encoding':
        this.#refusedEncoding(request);
        return 0;
      case 'refused':
        if (this.#choice.isTrial(request.encoding)) this.#refusedEncoding(request);
        else this.#refused(request);
        return 0;
      default:
        return verdict satisfies never;
    }
  }

  /**
   * Asks whether the endpoint reads protobuf, beside what is sent. A message without any member has no bytes; receivers
   * should take it (OTLP 1.10, "Full Success").
   */
  async #ask(): Promise<void> {
    const answer = await this.#post(this.#compressed(new Uint8Array()), 'protobuf');
    this.#choice.answered(readsProtobuf(answer));
  }

  /**
   * Points in the refused encoding are collected again in the other one, and nothing fails as long as that one was not
   * tried. If the other one was refused too, they are dropped.
   */
  #refusedEncoding(request: EncodedRequest): void {
    if (this.#hasChanged) {
      this.#refused(request);
    } else {
      this.#choice.refused(request.encoding);
      this.#collectInstead(request);
    }
  }

  /** Nobody knows yet whether the endpoint takes points in protobuf, so these do not wait for it. */
  #trialMissed(request: EncodedRequest): void {
    this.#choice.missed();
    this.#collectInstead(request);
  }

  /** Collects again, in place of the requests in this encoding. */
  #collectInstead({ encoding, collection }: EncodedRequest): void {
    const isLogging = this.#collecting === 'log';
    this.#hasChanged = true;
    this.#tries = 0;
    // The points of a log that is under way are newer: no others are collected for it.
    this.#count({ dropped: this.#buffer.clear(encoding, isLogging ? null : collection) });
    // If everything was collected already, nothing would collect again before the next interval.
    if (this.#collecting === null) void this.#collect(true);
  }

  #refused(request: EncodedRequest): void {
    this.#state = { ...this.#state, isFailing: true };
    if (this.#taken(request)) this.#count({ dropped: request.points });
  }

  /** False: it was dropped meanwhile, and is counted. */
  #taken(request: EncodedRequest): boolean {
    this.#tries = 0;
    if (this.#buffer.oldest !== request) return false;
    this.#buffer.shift();
    return true;
  }

  #waitAfter(afterMs: number | null): number {
    const growing = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(16, this.#tries - 1));
    const spread = growing * (0.75 + Math.random() / 2);
    return Math.max(spread, Math.min(afterMs ?? 0, RETRY_AFTER_MAXIMUM_MS));
  }

  #post(body: Uint8Array, encoding: Encoding): Promise<PostResult> {
    const { target, post } = this.#parts;
    const ours = {
      'content-type': CONTENT_TYPES[encoding],
      'user-agent': 'svc',
      ...(target.isCompressed ? { 'content-encoding': 'gzip' } : {}),
    };
    return post({
      url: target.url,
      headers: mergeHeaders(ours, withoutBodyHeaders(this.#headers)),
      body,
      secrets: this.#secrets,
      signal: this.#stopping.signal,
    });
  }

  #compressed(body: Uint8Array): Uint8Array {
    return this.target.isCompressed ? gzipped(body) : body.slice();
  }

  /**
   * The number of rejected points that an endpoint reports is bounded by the number that it was sent, so that it
   * cannot spoil our sums.
   */
  #countTaken(points: number, said: number): void {
    const rejected = Math.min(points, said);
    this.#count({ taken: points - rejected, rejected });
  }

  #count(more: { taken?: number; rejected?: number; dropped?: number }): void {
    const { taken, rejected, dropped } = this.#state;
    this.#state = {
      ...this.#state,
      taken: taken + (more.taken ?? 0),
      rejected: rejected + (more.rejected ?? 0),
      dropped: dropped + (more.dropped ?? 0),
    };
  }
}

/** Headers about the form of the body are ours. */
function withoutBodyHeaders(headers: ExportTarget['headers']): ExportTarget['headers'] {
  return headers.filter(({ key }) => !/^content-(?:type|encoding)$/i.test(key));
}

function secretsOf({ url, headers }: ExportTarget): string[] {
  return [...headers.map(({ value }) => value), ...querySecrets(new URL(url))].filter((text) => text !== '');
}
