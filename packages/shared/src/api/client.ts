import { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import { jsonOrUndefined } from '../json.ts';
import type { Secret } from '../secret.ts';
import { ApiError, errorOfAnswer, foreignAnswer, problemOf } from './api-error.ts';
import { baseUrlProblem, tokenProblem } from './client-settings.ts';
import { type AnswerHeaders, type ExchangeEnd, exchange, unansweredWithin } from './exchange.ts';
import { Operation } from './operation.ts';
import { retryAfterOf, retryClassOf, waitBeforeRetry } from './retry.ts';
import { type Patience, ServerHealth } from './server-health.ts';

export type ApiLimits = Patience & {
  /** Maximum duration of one attempt, including the body of the answer, ms. */
  readonly attemptMs: number;
  /** Maximum duration of one request with all its attempts and waits, ms. */
  readonly deadlineMs: number;
  /** Time limit after the caller's abort, ms, for a request that the server may have carried out. */
  readonly finishMs: number;
  /** Maximum wait that `Retry-After` can ask for, ms. */
  readonly retryAfterMs: number;
  readonly answerBytes: number;
};

const API_LIMITS: ApiLimits = {
  attemptMs: 30_000,
  deadlineMs: 300_000,
  finishMs: 30_000,
  failingMs: 120_000,
  neverAnsweredMs: 20_000,
  retryAfterMs: 60_000,
  answerBytes: 32 * 1_024 * 1_024,
};

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Retry = {
  readonly request: string;
  /** Why the last attempt failed, without secrets. */
  readonly reason: string;
  readonly attempts: number;
  readonly waitMs: number;
};

export type ApiClientOptions = {
  /** The address of the API, with or without a final slash. */
  readonly baseUrl: string;
  readonly token: Secret;
  readonly userAgent: string;
  readonly clock?: Clock;
  /** Random numbers, uniform in [0, 1). */
  readonly random?: () => number;
  readonly limits?: Partial<ApiLimits>;
  /** Called before each wait, for the caller's log. */
  readonly onRetry?: (retry: Retry) => void;
};

export type RequestOptions = {
  /** Members that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** Makes a POST repeatable: the server answers a repetition with the object that the first request made. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /**
   * The effect of an abort of the signal. `give-up`, the default, ends everything at once. `finish` gives a
   * request that the server may have carried out a bounded time to learn its outcome, so that the object that
   * it made is not lost. A GET, and a request that the server certainly did not carry out, end at once in
   * both cases.
   */
  readonly whenAborted?: 'give-up' | 'finish';
  /**
   * Maximum duration of this request with all its attempts and waits, ms; the default is 5 minutes, or the
   * client's own limit.
   */
  readonly deadlineMs?: number;
};

export type ApiAnswer = {
  readonly status: number;
  /** Parsed JSON; null when there was no body. */
  readonly body: unknown;
  readonly headers: AnswerHeaders;
};

/** An object of a list. Its id is decimal. */
export type ListedObject = { readonly id: string; readonly [member: string]: unknown };

/** One page of a list whose objects have decimal ids. */
export const listPage = z.looseObject({
  data: z.array(z.looseObject({ id: z.string().regex(/^\d+$/) })),
  total: z.number().int(),
});

const PAGE_SIZE = 100;

/**
 * Maximum number of steps back in one list, in addition to one step for each page. A list steps back when
 * objects vanish while it is read.
 */
const STEPS_BACK = 100;

/**
 * The client of the HTTP API: authentication, time limits, retries. Requests do not wait for each other.
 *
 * It retries 429, 500, 502, 503, 504, failed connections and time-outs. Without an idempotency key, it
 * retries a POST or a PATCH only when the server certainly did not carry out the request. Every error is an
 * {@link ApiError}.
 */
export class ApiClient {
  /** The address without a final slash. */
  readonly baseUrl: string;
  readonly #token: Secret;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #limits: ApiLimits;
  readonly #onRetry: (retry: Retry) => void;
  readonly #health: ServerHealth;

  /** @throws ApiError `bad-settings` when the address or the token is not usable */
  constructor(options: ApiClientOptions) {
    const problem = problemWith(options);
    if (problem !== null) throw new ApiError('bad-settings', problem, { request: 'svc API' });
    this.baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.#token = options.token;
    this.#userAgent = options.userAgent;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#limits = { ...API_LIMITS, ...options.limits };
    this.#onRetry = options.onRetry ?? (() => {});
    this.#health = new ServerHealth(this.#limits);
  }

  get(path: string, options: Omit<RequestOptions, 'body' | 'idempotencyKey'> = {}): Promise<ApiAnswer> {
    return this.request('GET', path, options);
  }

  /** Posts a body. The caller makes the idempotency key once for each object that it creates. */
  post(
    path: string,
    body: unknown,
    options: Omit<RequestOptions, 'body'> & { readonly idempotencyKey: string },
  ): Promise<ApiAnswer> {
    return this.request('POST', path, { ...options, body });
  }

  put(path: string, body: unknown, options: Omit<RequestOptions, 'body'> = {}): Promise<ApiAnswer> {
    return this.request('PUT', path, { ...options, body });
  }

  delete(path: string, options: Omit<RequestOptions, 'body'> = {}): Promise<ApiAnswer> {
    return this.request('DELETE', path, options);
  }

  /**
   * Lists all objects that the query selects, and reads the pages on demand. The service must list them by
   * ascending id: of a list in another order, objects are left out. An object that
   * exists from the beginning to the end is listed exactly once, even when other objects are created or
   * deleted meanwhile.
   */
  async *list(
    path: string,
    query: NonNullable<RequestOptions['query']> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<ListedObject, void, undefined> {
    let lastId = 0;
    let stepsBack = 0;
    for (let offset = 0; ; ) {
      const { data, total } = await this.#page(path, { ...query, limit: PAGE_SIZE, offset }, signal);
      const [first] = data;
      // Pages overlap by one object. If the page does not begin at or before the last object that was listed,
      // objects have vanished and later objects have moved up, so the reading steps back.
      if (offset > 0 && (first === undefined || Number(first.id) > lastId)) {
        offset = Math.max(0, offset - PAGE_SIZE);
        stepsBack += 1;
        if (stepsBack > STEPS_BACK + total / PAGE_SIZE) throw unsettled(`GET ${path}`);
        continue;
      }
      for (const listed of data) {
        if (Number(listed.id) <= lastId) continue;
        lastId = Number(listed.id);
        yield listed;
      }
      if (data.length <= 1 || offset + data.length >= total) return;
      offset += data.length - 1;
    }
  }

  async #page(path: string, query: NonNullable<RequestOptions['query']>, signal: AbortSignal | undefined) {
    const answer = await this.get(path, { query, ...(signal === undefined ? {} : { signal }) });
    const parsed = listPage.safeParse(answer.body);
    if (!parsed.success) throw foreignAnswer(`GET ${path}`, answer);
    return parsed.data;
  }

  /** @throws ApiError */
  async request(method: Method, path: string, options: RequestOptions = {}): Promise<ApiAnswer> {
    const operation = new Operation({
      clock: this.#clock,
      deadlineMs: options.deadlineMs ?? this.#limits.deadlineMs,
      finishMs: this.#limits.finishMs,
      signal: options.signal,
      finishes: options.whenAborted === 'finish' && method !== 'GET',
    });
    try {
      return await this.#attempts(operation, method, path, options);
    } finally {
      operation.close();
    }
  }

  async #attempts(
    operation: Operation,
    method: Method,
    path: string,
    options: RequestOptions,
  ): Promise<ApiAnswer> {
    const request = `${method} ${path}`;
    const sent = this.#sent(method, path, options);
    const isRepeatable = !['POST', 'PATCH'].includes(method) || options.idempotencyKey !== undefined;
    for (let attempts = 1; ; attempts += 1) {
      if (operation.isToEnd) throw aborted(request, operation);
      const before = operation.mayBeDone;
      operation.mayBeDone = true;
      const timeoutMs = Math.min(this.#limits.attemptMs, operation.remainingMs);
      const ended = await exchange(sent, {
        clock: this.#clock,
        timeoutMs,
        answerBytes: this.#limits.answerBytes,
        signal: operation.signal,
      });
      const isGivenUp = ended.kind === 'unanswered' && ended.failure === 'aborted';
      // The deadline and the time of the last attempt end together, and either timer may be the first.
      const result = isGivenUp && !operation.isAborted ? unansweredWithin(timeoutMs) : ended;
      const isDoubtful = mayBeDone(result);
      operation.mayBeDone = before || isDoubtful;
      if (isGivenUp && operation.isAborted) throw aborted(request, operation);
      const verdict = verdictOn(result);
      if (verdict === 'final') {
        this.#health.answered();
        return this.#final(request, result);
      }
      const waitMs = this.#waitAfter(verdict, result, operation, attempts);
      if (operation.isToEnd && operation.isAborted) throw aborted(request, operation);
      if (waitMs === null || (isDoubtful && !isRepeatable)) {
        throw this.#error(request, result, operation, attempts);
      }
      this.#onRetry({ request, reason: reasonOf(result), attempts, waitMs });
      await operation.wait(waitMs);
      if (operation.isToEnd && !operation.isAborted) {
        throw this.#error(request, result, operation, attempts);
      }
    }
  }

  #sent(method: Method, path: string, { query = {}, body, idempotencyKey }: RequestOptions) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) parameters.set(name, String(value));
    }
    const text = parameters.size === 0 ? '' : `?${parameters}`;
    return {
      method,
      url: `${this.baseUrl}${path}${text}`,
      headers: {
        authorization: `Bearer ${this.#token.reveal()}`,
        accept: 'application/json, application/problem+json',
        'user-agent': this.#userAgent,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    };
  }

  /** The wait before another attempt, ms; null when there is no further attempt. */
  #waitAfter(
    verdict: 'rate-limited' | 'failed' | 'hopeless',
    result: ExchangeEnd,
    operation: Operation,
    attempts: number,
  ): number | null {
    if (verdict === 'hopeless') return null;
    const now = this.#clock.monotonic();
    const header = result.kind === 'answered' ? result.headers.get('retry-after') : null;
    const asked = retryAfterOf(header, this.#clock.wall(), this.#limits.retryAfterMs);
    const waitMs = waitBeforeRetry(attempts, this.#random(), asked);
    if (verdict === 'rate-limited') {
      this.#health.answered();
      operation.failingSince = null;
    } else {
      this.#health.failed(now, isOwnFailure(result));
      operation.failingSince ??= now;
      if (now + waitMs > this.#health.triedUntil(operation.failingSince)) return null;
    }
    return waitMs < operation.remainingMs ? waitMs : null;
  }

  #final(request: string, result: ExchangeEnd): ApiAnswer {
    if (result.kind !== 'answered') throw new TypeError('only answers are final');
    const { status, headers, text } = result;
    if (status >= 300 && status < 400) throw this.#redirected(request, result);
    if (status < 200 || status >= 300) throw errorOfAnswer(request, result, text);
    if (text === '' && status === 204) return { status, headers, body: null };
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('content-type') ?? '');
    const body = isJson ? jsonOrUndefined(text) : undefined;
    if (body === undefined) throw foreignAnswer(request, result);
    return { status, headers, body };
  }

  #redirected(request: string, answered: { status: number; headers: AnswerHeaders }): ApiError {
    const to = URL.parse(answered.headers.get('location') ?? '', this.baseUrl)?.origin;
    const where = to === undefined ? '' : ` to ${to}`;
    const message = `${this.baseUrl} redirects${where} (${answered.status}), and svc does not follow redirects: use the address of the API itself`;
    return new ApiError('redirected', message, { request, answered });
  }

  #error(request: string, result: ExchangeEnd, operation: Operation, attempts: number): ApiError {
    const tried =
      attempts === 1 ? '' : ` (tried ${attempts} times in ${Math.round(operation.elapsedMs / 1_000)} s)`;
    const doubt = doubtAbout(request, operation);
    if (result.kind === 'answered') return errorOfAnswer(request, result, result.text, `${tried}${doubt}`);
    const { failure, message, cause } = result;
    const what = `cannot get an answer from ${this.baseUrl}: ${message}`;
    return new ApiError(failure, `${what}${tried}${doubt}`, { request, cause });
  }
}

function doubtAbout(request: string, { mayBeDone }: Operation): string {
  if (!mayBeDone || request.startsWith('GET ')) return '';
  // Only a POST gets the hint, because a later repetition by the user has another idempotency key.
  const advice = request.startsWith('POST ') ? ': check whether the object exists before you try again' : '';
  return `; the request may have been carried out nevertheless${advice}`;
}

function problemWith({ baseUrl, token }: ApiClientOptions): string | null {
  const url = baseUrlProblem(baseUrl);
  if (url !== null) return `the base URL ${url}`;
  const wrong = tokenProblem(token.reveal());
  return wrong === null ? null : `the token ${wrong}`;
}

function aborted(request: string, operation: Operation): ApiError {
  return new ApiError('aborted', `cancelled by the caller${doubtAbout(request, operation)}`, { request });
}

function unsettled(request: string): ApiError {
  const message =
    'the list changed each time it was read: try again when fewer objects are deleted, and check any proxy in front of the API';
  return new ApiError('unsettled', message, { request });
}

function verdictOn(result: ExchangeEnd): 'final' | 'rate-limited' | 'failed' | 'hopeless' {
  if (result.kind === 'answered') return retryClassOf(result.status);
  return result.failure === 'certificate' || result.failure === 'answer-too-large' ? 'hopeless' : 'failed';
}

/** Whether the API itself reports the failure, or the answer says when to try again. */
function isOwnFailure(result: ExchangeEnd): boolean {
  return result.kind === 'answered' && (result.headers.has('retry-after') || problemOf(result.text) !== null);
}

/** Whether a request ended with a failure after which the server may nevertheless have carried it out. */
function mayBeDone(result: ExchangeEnd): boolean {
  if (result.kind === 'unanswered') return result.mayHaveArrived;
  // Only svc's own 503 says that nothing was changed. A proxy also sends 503 when the
  // server died during the request.
  if (result.status === 503) return problemOf(result.text)?.code !== 'unavailable';
  return result.status === 500 || result.status === 502 || result.status === 504;
}

function reasonOf(result: ExchangeEnd): string {
  return result.kind === 'answered' ? `answered ${result.status}` : result.message;
}
