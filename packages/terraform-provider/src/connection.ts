import { ApiError, foreignAnswer } from '@svc/shared/api/api-error.ts';
import {
  type ApiAnswer,
  ApiClient,
  type ApiClientOptions,
  listPage,
  type RequestOptions,
} from '@svc/shared/api/client.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { z } from 'zod';
import type { NotKnown, ProviderSettings } from './provider-settings.ts';

/**
 * The API was called while a setting of the provider is unknown, or before the provider was configured.
 * During a plan, another resource may still have to compute the setting.
 */
class NotConnected extends SvcError {
  constructor(names: NotKnown) {
    super(
      'not-connected',
      names.length === 0
        ? 'the provider is not configured yet'
        : `cannot call the API, because ${names.join(' and ')} of the provider block ${names.length === 1 ? 'is' : 'are'} only known after an apply. Apply what it depends on first (terraform apply -target=…), or take the value from a variable`,
    );
  }
}

/** Options for every client that the provider creates: time, limits, log. */
export type ClientOptions = Omit<ApiClientOptions, 'baseUrl' | 'token'>;

/** Maximum time for which an API that does not answer delays a plan, ms. */
const PLAN_CHECK_MS = 5_000;

const regionList = z.looseObject({ data: z.array(z.looseObject({ region: z.string() })) });

type Open = { readonly client: ApiClient; readonly settings: ProviderSettings };

/**
 * The API as the resources use it. Each configuration creates a new client, and {@link stop} ends all
 * requests.
 */
export class Connection {
  #open: Open | null = null;
  #notKnown: NotKnown = [];
  #stop = new AbortController();
  #confirmation: Promise<ApiAnswer> | null = null;

  #tokenCheck: Promise<ApiError | null> | null = null;
  #regions: Promise<readonly string[] | null> | null = null;

  open(settings: ProviderSettings, options: ClientOptions): void {
    const client = new ApiClient({
      ...options,
      baseUrl: settings.baseUrl.value,
      token: settings.token.value,
    });
    this.#reset({ client, settings }, []);
  }

  /** Makes calls fail with the names of the arguments that are not known yet. */
  postpone(notKnown: NotKnown): void {
    this.#reset(null, notKnown);
  }

  /** Ends waits and reads. A write in progress gets a limited time (`finishMs`) to receive its result. */
  stop(): void {
    this.#stop.abort();
  }

  get settings(): ProviderSettings | null {
    return this.#open?.settings ?? null;
  }

  read(path: string, query: NonNullable<RequestOptions['query']> = {}): Promise<ApiAnswer> {
    return this.#client.get(path, { query, signal: this.#stop.signal });
  }

  create(path: string, body: unknown, idempotencyKey: string): Promise<ApiAnswer> {
    return this.#client.post(path, body, { idempotencyKey, ...this.#finishing });
  }

  replace(path: string, body: unknown): Promise<ApiAnswer> {
    return this.#client.put(path, body, this.#finishing);
  }

  async remove(path: string, query: NonNullable<RequestOptions['query']> = {}): Promise<void> {
    const answer = await this.#client.delete(path, { query, ...this.#finishing });
    if (answer.status !== 204) throw foreignAnswer(`DELETE ${path}`, answer);
  }

  /**
   * Resolves when a list shows that the API answers at the base URL.
   *
   * Call this before you treat an object that is not found as removed: under a
   * wrong path of the right server, no object is ever found. Call this before a
   * removal too: the answer to a removal does not prove that the API sent it.
   */
  async confirmApi(): Promise<ApiAnswer> {
    this.#confirmation ??= this.#listMonitor().catch((error: unknown) => {
      this.#confirmation = null;
      throw error;
    });
    return this.#confirmation;
  }

  /**
   * The error with which the API refuses the token. A plan that makes no other request checks the token this
   * way. Null: the API accepts the token, fails in another way, or does not answer. An API that does not
   * answer may still be created before the apply.
   */
  refusedToken(): Promise<ApiError | null> {
    this.#tokenCheck ??= this.#open === null ? Promise.resolve(null) : this.#checkToken();
    return this.#tokenCheck;
  }

  async #checkToken(): Promise<ApiError | null> {
    try {
      await this.#client.get('/v1/monitors', {
        query: { limit: 1 },
        signal: this.#stop.signal,
        deadlineMs: PLAN_CHECK_MS,
      });
      return null;
    } catch (error) {
      return error instanceof ApiError && error.code === 'unauthorized' ? error : null;
    }
  }

  /** The regions of the API, which are read once; null: they cannot be read now. */
  regions(): Promise<readonly string[] | null> {
    this.#regions ??= this.#open === null ? Promise.resolve(null) : this.#readRegions();
    return this.#regions;
  }

  async #readRegions(): Promise<readonly string[] | null> {
    try {
      const options = { signal: this.#stop.signal, deadlineMs: PLAN_CHECK_MS };
      const { body } = await this.#client.get('/v1/regions', options);
      return regionList.parse(body).data.map(({ region }) => region);
    } catch {
      return null; // The caller warns, and the apply has the API's own words.
    }
  }

  async #listMonitor(): Promise<ApiAnswer> {
    const path = '/v1/monitors';
    const answer = await this.read(path, { limit: 1 });
    if (!listPage.safeParse(answer.body).success) throw foreignAnswer(`GET ${path}`, answer);
    return answer;
  }

  get #client(): ApiClient {
    if (this.#open === null) throw new NotConnected(this.#notKnown);
    return this.#open.client;
  }

  get #finishing() {
    return { signal: this.#stop.signal, whenAborted: 'finish' as const };
  }

  #reset(open: Open | null, notKnown: NotKnown): void {
    this.#open = open;
    this.#notKnown = notKnown;
    this.#confirmation = null;
    this.#tokenCheck = null;
    this.#regions = null;
    // A reattached process serves several runs, and the previous run may have stopped the connection.
    if (this.#stop.signal.aborted) this.#stop = new AbortController();
  }
}
