import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { basicAuthorization, credentialsIn } from '@svc/shared/url-secrets.ts';
import type { HttpPost, PostResult } from '../outgoing/http-post.ts';

/** Interval of the calls, ms. */
const CALL_EVERY_MS = 60_000;

export type DeadmanParts = {
  /** The address of `SVC_DEADMAN_URL`. It usually contains a token, so no message shows it. */
  readonly url: string;
  readonly request: HttpPost;
  /**
   * Resolves to whether checks are given out and results can be recorded. If it rejects, or does not resolve, there is
   * no call.
   */
  readonly isWorking: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Calls an address each minute while the leadership of shard 0 works. If the calls
 * stop, a service outside svc can raise an alarm. After a failed call, the next
 * call is a minute later. No call reports a failure: svc only leaves calls out.
 */
export class Deadman {
  readonly #parts: DeadmanParts;
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => {};
  #calling: Promise<void> | null = null;
  #isFailing = false;

  constructor(parts: DeadmanParts) {
    this.#parts = parts;
  }

  /**
   * Begins the calls. The first call is due in a minute: a coordinator that ends soon after each
   * of its starts must not call at each of them.
   */
  start(): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelTimer = this.#parts.clock.every(CALL_EVERY_MS, () => {
      this.#calling ??= this.#callIfWorking().finally(() => {
        this.#calling = null;
      });
    });
  }

  /** Resolves when the call in progress has ended. */
  async callEnded(): Promise<void> {
    await this.#calling;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#calling;
  }

  async #callIfWorking(): Promise<void> {
    const isWorking = await this.#parts.isWorking().catch(() => false);
    if (isWorking && !this.#stopping.signal.aborted) await this.#call();
  }

  async #call(): Promise<void> {
    const { url, request } = this.#parts;
    const { signal } = this.#stopping;
    const credentials = credentialsIn(new URL(url));
    const headers = [
      ['user-agent', 'svc'],
      ...(credentials === null ? [] : [['authorization', basicAuthorization(credentials)] as const]),
    ] as const;
    const secrets = [url, new URL(url).pathname];
    const problem = problemOf(await request({ method: 'GET', url, headers, secrets, signal }));
    if (signal.aborted || (problem !== null) === this.#isFailing) return;
    this.#isFailing = problem !== null;
    const { log } = this.#parts;
    if (problem === null) log.info('the calls to SVC_DEADMAN_URL are accepted again');
    else log.warn({ problem }, 'SVC_DEADMAN_URL does not accept the calls: svc goes on calling each minute');
  }
}

/** Why the call failed; null: the receiver accepted it. */
function problemOf(result: PostResult): string | null {
  if (result.kind === 'unanswered') return result.error;
  const { statusCode } = result;
  return statusCode >= 200 && statusCode < 300 ? null : `it answered with status ${statusCode}`;
}
