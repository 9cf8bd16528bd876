import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/waiting.ts';
import { type AuditLine, appendAudit } from '../store/access/audit.ts';
import type { Token } from '../store/access/tokens.ts';
import { StoreError } from '../store/errors.ts';
import type { Store, Transaction } from '../store/store.ts';
import { peerKey } from '../web/site.ts';
import type { ApiCounters } from './api-parts.ts';
import type { ChangeAudit, Endpoint } from './endpoint.ts';
import type { ApiCalls, Login, PageRefusal } from './in-process.ts';
import { problemOf } from './problem.ts';
import { RateLimit, type RequestGate, unauthorized } from './request-gate.ts';

/** Maximum number of lines that wait to be written. Further lines are dropped and counted. */
const MOST_WAITING = 1_000;
/**
 * Maximum rate of audit lines about refusals of one peer or token.
 * The bound keeps a flood of requests from filling the disk.
 */
const REFUSALS = { perSecond: 1, atOnce: 100 };
/**
 * Time after a login during which requests with the same token from the same address are no new login, ms.
 */
const LOGIN_MS = 24 * 3_600_000;
const MOST_LOGINS = 10_000;
/** Time between a failed write and the next try, ms. */
const WRITE_AGAIN_MS = 1_000;

type AuditTrailParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts the dropped lines. */
  readonly leftOut: ApiCounters['auditLinesLeftOut'];
};

/**
 * The audit trail of requests. A change writes its line in its own transaction.
 * All other lines (of refusals, logins, and work without a transaction) wait in
 * memory until they are written, so that no answer waits for the disk.
 */
export class AuditTrail {
  readonly #parts: AuditTrailParts;
  readonly #refusals = new RateLimit<string>(REFUSALS);
  /** When each token last logged in from each address, monotonic ms. */
  readonly #logins = new Map<string, number>();
  readonly #closing = new AbortController();
  #waiting: AuditLine[] = [];
  /** Number of lines in {@link #waiting} and in the running transaction. */
  #kept = 0;
  #writing: Promise<void> | null = null;
  /** Resolves when the running try to write ends, with or without success. */
  #tried = Promise.withResolvers<void>();
  /**
   * Whether the last try to write failed because of a temporary
   * error. The lines of that try wait for the next try.
   */
  #isRefused = false;

  constructor(parts: AuditTrailParts) {
    this.#parts = parts;
  }

  /**
   * Adds a line that no transaction of a change writes. If too
   * many lines wait already, the line is dropped and counted.
   */
  addLine(line: AuditLine): void {
    if (this.#kept >= MOST_WAITING) {
      this.#parts.leftOut.database += 1;
      return;
    }
    this.#kept += 1;
    this.#waiting.push(line);
    this.#writing ??= this.#write();
  }

  /**
   * Adds a line about a refusal. If the refusals of one
   * source come too fast, the line is dropped and counted.
   *
   * @param source the token or peer that was refused
   */
  addRefusal(line: AuditLine, source: string): void {
    if (this.#refusals.countUse(source, this.#parts.clock.monotonic()) > 0) this.#parts.leftOut.flood += 1;
    else this.addLine(line);
  }

  /**
   * Whether a use of a token is a login: the token had no login
   * from this address in the last 24 h. Remembers a login.
   */
  isLogin(tokenId: number, peer: string | null): boolean {
    const key = `${tokenId} ${peer}`;
    const now = this.#parts.clock.monotonic();
    const before = this.#logins.get(key);
    if (before !== undefined && now - before < LOGIN_MS) return false;
    if (this.#logins.size >= MOST_LOGINS) this.#logins.clear();
    this.#logins.set(key, now);
    return true;
  }

  /** Resolves when all lines are written, or when a try to write has failed. */
  async untilWritten(): Promise<void> {
    while (this.#writing !== null && !this.#isRefused) await this.#tried.promise;
  }

  /** Tries to write the remaining lines once more. Lines that the database does not accept are lost. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#writing !== null) await this.#writing;
  }

  async #write(): Promise<void> {
    const { store, clock, log, leftOut } = this.#parts;
    // Lines that are added in the same turn of the event loop share one transaction.
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
    // No `await` follows the last check of `#waiting`, so a line that is added later starts a new write.
    this.#writing = null;
    this.#endTry();
  }

  #endTry(): void {
    this.#tried.resolve();
    this.#tried = Promise.withResolvers();
  }
}

/** The data of a request that its audit lines need. */
type RequestFacts = {
  readonly endpoint: Pick<Endpoint, 'method' | 'path' | 'access'>;
  /** Path of the request, like `/v1/monitors/12`. */
  readonly path: string;
  readonly requestId: string;
  readonly peer: string | null;
  /** When the request arrived, epoch ms. */
  readonly at: number;
};

const VERBS = { GET: 'read', POST: 'create', PUT: 'replace', PATCH: 'change', DELETE: 'remove' } as const;

/**
 * HTTP statuses of refusals whose reason is the sender: no valid token, too small a scope, too many requests.
 */
const REFUSED_CALLERS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Adds the audit lines of one request: a line about the login, and a line about the change or refusal. */
export class RequestAudit implements ChangeAudit {
  readonly #trail: AuditTrail;
  readonly #facts: RequestFacts;
  #token: Token | null = null;
  #isWritten = false;

  constructor(trail: AuditTrail, facts: RequestFacts) {
    this.#trail = trail;
    this.#facts = facts;
  }

  noteToken(token: Token): void {
    this.#token = token;
    if (!this.#trail.isLogin(token.id, this.#facts.peer)) return;
    this.#trail.addLine({ ...this.#line(200), action: 'login', object: `tokens/${token.id}`, status: null });
  }

  async writeLine(tx: Transaction, madeId?: number): Promise<void> {
    const line = this.#line(200);
    const object = madeId === undefined ? line.object : `${line.object}/${madeId}`;
    await appendAudit(tx, [{ ...line, object, status: null }]);
    tx.onCommit(() => {
      this.#isWritten = true;
    });
  }

  /**
   * Adds a line about the answer to a change, or about a refusal because of
   * the sender, unless the transaction of the change has written a line.
   */
  noteAnswer(status: number, detail: string | null): void {
    const { method, access } = this.#facts.endpoint;
    const isChange = method !== 'GET' && access !== 'read';
    if (this.#isWritten || !(isChange || REFUSED_CALLERS.has(status))) return;
    const line = { ...this.#line(status), detail };
    if (status < 400) this.#trail.addLine(line);
    else this.#trail.addRefusal(line, String(this.#token?.id ?? peerKey(this.#facts.peer)));
  }

  #line(status: number): AuditLine {
    const { endpoint, path, requestId, peer, at } = this.#facts;
    const token = this.#token;
    return {
      at,
      workspaceId: token?.workspaceId ?? null,
      actor: token === null ? 'nobody' : 'token',
      token: token === null ? null : { id: token.id, name: token.name },
      action: actionOf(endpoint),
      object: objectOf(endpoint, path),
      outcome: status < 400 ? 'done' : status < 500 ? 'refused' : 'failed',
      status,
      requestId,
      peer,
      detail: null,
    };
  }
}

/**
 * Returns the action of a request: `check` for `POST /v1/monitors/{id}/check`, `dry-run`
 * for `POST /v1/monitors/dry-run`, and a verb for the method in all other cases.
 */
function actionOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  const isVerb = method === 'POST' && !isCollection(path);
  const verb = isVerb ? /(?:\{\w+\}|\/monitors)\/([\w-]+)$/.exec(path)?.[1] : undefined;
  return verb ?? VERBS[method];
}

/**
 * Whether the path is that of a collection below a page or an
 * incident. If so, its last part names the collection, not an action.
 */
function isCollection(path: string): boolean {
  return /\{\w+_id\}\/[\w-]+$/.test(path);
}

function objectOf(endpoint: RequestFacts['endpoint'], path: string): string {
  const below = path.replace(/^\/v1\//, '');
  return actionOf(endpoint) === VERBS[endpoint.method] ? below : below.slice(0, below.lastIndexOf('/'));
}

type LoginParts = { readonly gate: RequestGate; readonly trail: AuditTrail; readonly clock: Clock };

/**
 * Creates the functions with which the dashboard checks logins and records logins, logouts
 * and refusals. Their audit lines have the same members as the lines of API requests.
 */
export function createLogins({ gate, trail, clock }: LoginParts): Omit<ApiCalls, 'call'> {
  const noteLogin = (token: Token, from: Login): void => {
    // This call only remembers the login, so that the first request of the session adds no second line.
    trail.isLogin(token.id, from.peer);
    trail.addLine({ ...dashboardLine(token, from, clock.wall()), action: 'login' });
  };
  const noteRefusal = ({ token, action, path, status, message }: PageRefusal, from: Login): void => {
    const refused = {
      action,
      object: `dashboard${path}`,
      outcome: 'refused',
      status,
      detail: message,
    } as const;
    const line = { ...dashboardLine(token, from, clock.wall()), ...refused };
    trail.addRefusal(line, String(token?.id ?? peerKey(from.peer)));
  };
  const notingRefusals = <T>(from: Login, login: () => T): T => {
    try {
      return login();
    } catch (error) {
      const problem = problemOf(error);
      if (problem !== null) {
        const { status, message } = problem;
        noteRefusal({ token: null, action: 'login', path: '', status, message }, from);
      }
      throw error;
    }
  };
  return {
    login: (secret, from) =>
      notingRefusals(from, () => {
        const token = gate.identifyToken(`Bearer ${secret}`, from.peer);
        noteLogin(token, from);
        return token;
      }),
    refuseLink: (from) =>
      notingRefusals(from, () => {
        gate.countFailure(from.peer);
        throw unauthorized('the link is unknown, used or too old');
      }),
    noteLogin,
    noteLogout(token, from) {
      trail.addLine({ ...dashboardLine(token, from, clock.wall()), action: 'logout' });
    },
    noteRefusal,
  };
}

/**
 * Makes the members that all lines of the dashboard have in common.
 *
 * @param at epoch ms
 */
function dashboardLine(
  token: Token | null,
  { peer, requestId }: Login,
  at: number,
): Omit<AuditLine, 'action'> {
  return {
    at,
    workspaceId: token?.workspaceId ?? null,
    actor: token === null ? 'nobody' : 'token',
    token: token === null ? null : { id: token.id, name: token.name },
    object: token === null ? 'dashboard' : `tokens/${token.id}`,
    outcome: 'done',
    status: null,
    requestId,
    peer,
    detail: null,
  };
}
