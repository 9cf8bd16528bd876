import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/pause.ts';
import { type AuditLine, appendAudit } from '../store/audit.ts';
import { StoreError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import type { ApiCounters } from './api-counters.ts';
import { RateLimit } from './rate-limit.ts';

/** Most lines that wait. Further lines are counted and dropped. */
const MOST_WAITING = 1_000;
/** Rate of one peer's or token's refusals that become lines, because a flood must not fill the disk. */
const REFUSALS = { perSecond: 1, atOnce: 100 };
/** Time within which a token that comes from the same address again does not count as a login, ms. */
const LOGIN_MS = 24 * 3_600_000;
const MOST_LOGINS = 10_000;
/** Wait before lines that the database did not take are tried again, ms. */
const WRITE_AGAIN_MS = 1_000;

type AuditTrailParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts the lines that are left out. */
  readonly leftOut: ApiCounters['auditLinesLeftOut'];
};

/**
 * The audit trail of requests. A change writes its line in its own transaction. All other lines (refusals,
 * logins, work without a transaction) wait here for a moment, so that no answer waits for the disk because of
 * them, and until the database takes writes.
 */
export class AuditTrail {
  readonly #parts: AuditTrailParts;
  readonly #refusals = new RateLimit<string>(REFUSALS);
  /** Last logins by token and address, monotonic ms. */
  readonly #logins = new Map<string, number>();
  readonly #closing = new AbortController();
  #waiting: AuditLine[] = [];
  /** Lines of {@link #waiting} and of the transaction under way. */
  #kept = 0;
  #writing: Promise<void> | null = null;
  /** Resolves after the try under way. */
  #tried = Promise.withResolvers<void>();
  /** Whether the database did not take the last lines, so that they wait. */
  #isRefused = false;

  constructor(parts: AuditTrailParts) {
    this.#parts = parts;
  }

  /** Adds a line for a request without a change, or for a change without a transaction of its own. */
  add(line: AuditLine): void {
    if (this.#kept >= MOST_WAITING) {
      this.#parts.leftOut.database += 1;
      return;
    }
    this.#kept += 1;
    this.#waiting.push(line);
    this.#writing ??= this.#write();
  }

  /** Adds a refusal. Of many refusals from one source in a short time, only some become lines. */
  refused(line: AuditLine, source: string): void {
    if (this.#refusals.take(source, this.#parts.clock.monotonic()) > 0) this.#parts.leftOut.flood += 1;
    else this.add(line);
  }

  /** Whether this token comes from this address for the first time in a day. */
  isLogin(tokenId: number, peer: string | null): boolean {
    const key = `${tokenId} ${peer}`;
    const now = this.#parts.clock.monotonic();
    const before = this.#logins.get(key);
    if (before !== undefined && now - before < LOGIN_MS) return false;
    if (this.#logins.size >= MOST_LOGINS) this.#logins.clear();
    this.#logins.set(key, now);
    return true;
  }

  /** Resolves when all added lines are written, or the database has not taken the last ones that were tried. */
  async settled(): Promise<void> {
    while (this.#writing !== null && !this.#isRefused) await this.#tried.promise;
  }

  /** Tries waiting lines once more. Those that the database does not take then are lost. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#writing !== null) await this.#writing;
  }

  async #write(): Promise<void> {
    const { store, clock, log, leftOut } = this.#parts;
    // The requests of this moment share a transaction.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        this.#isRefused = false;
        await store.transaction((tx) => appendAudit(tx, lines));
      } catch (error) {
        if (error instanceof StoreError && error.retryable && !this.#closing.signal.aborted) {
          this.#waiting = [...lines, ...this.#waiting];
          this.#isRefused = true;
          this.#endTry();
          await pause(clock, WRITE_AGAIN_MS, this.#closing.signal);
          continue;
        }
        leftOut.database += lines.length;
        log.warn({ lines: lines.length, error: messageOf(error) }, 'lines of the audit trail were lost');
      }
      this.#kept -= lines.length;
      this.#endTry();
    }
    // This is in the same turn as the last look, so a later line starts another write.
    this.#writing = null;
    this.#endTry();
  }

  #endTry(): void {
    this.#tried.resolve();
    this.#tried = Promise.withResolvers();
  }
}
