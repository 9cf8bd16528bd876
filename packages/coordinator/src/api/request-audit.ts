import { type AuditLine, appendAudit } from '../store/audit.ts';
import type { Transaction } from '../store/store.ts';
import type { Token } from '../store/tokens.ts';
import { peerKey } from '../web/peer-key.ts';
import type { AuditTrail } from './audit.ts';
import type { ChangeAudit, Endpoint } from './endpoint.ts';

/** The facts of a request for its audit line, whatever its outcome. */
export type RequestFacts = {
  readonly endpoint: Pick<Endpoint, 'method' | 'path' | 'access'>;
  /** Path like `/v1/monitors/12`. */
  readonly path: string;
  readonly requestId: string;
  readonly peer: string | null;
  /** Epoch ms. */
  readonly at: number;
};

const VERBS = { GET: 'read', POST: 'create', PUT: 'replace', PATCH: 'change', DELETE: 'remove' } as const;

/** Statuses of requests that were refused because of their sender. */
const REFUSED_CALLERS: ReadonlySet<number> = new Set([401, 403, 429]);

/** The audit lines of one request: of its login, its change or its refusal. */
export class RequestAudit implements ChangeAudit {
  readonly #trail: AuditTrail;
  readonly #facts: RequestFacts;
  #token: Token | null = null;
  #isWritten = false;

  constructor(trail: AuditTrail, facts: RequestFacts) {
    this.#trail = trail;
    this.#facts = facts;
  }

  identified(token: Token): void {
    this.#token = token;
    if (!this.#trail.isLogin(token.id, this.#facts.peer)) return;
    this.#trail.add({ ...this.#line(200), action: 'login', object: `tokens/${token.id}`, status: null });
  }

  async write(tx: Transaction, madeId?: number): Promise<void> {
    const line = this.#line(200);
    const object = madeId === undefined ? line.object : `${line.object}/${madeId}`;
    await appendAudit(tx, [{ ...line, object, status: null }]);
    tx.onCommit(() => {
      this.#isWritten = true;
    });
  }

  /** Writes the remaining line once the answer is known. */
  answered(status: number, detail: string | null): void {
    const { method, access } = this.#facts.endpoint;
    const isChange = method !== 'GET' && access !== 'read';
    if (this.#isWritten || !(isChange || REFUSED_CALLERS.has(status))) return;
    const line = { ...this.#line(status), detail };
    if (status < 400) this.#trail.add(line);
    else this.#trail.refused(line, String(this.#token?.id ?? peerKey(this.#facts.peer)));
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
 * The action of a request: `check` for `POST /v1/monitors/{id}/check`, `dry-run` for `POST /v1/monitors/dry-run`,
 * otherwise a verb for the method.
 */
function actionOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  const isVerb = method === 'POST' && !isCollection(path);
  const verb = isVerb ? /(?:\{\w+\}|\/monitors)\/([\w-]+)$/.exec(path)?.[1] : undefined;
  return verb ?? VERBS[method];
}

/** Whether the path is a collection below a page or an incident, whose last part is not a verb. */
function isCollection(path: string): boolean {
  return /\{\w+_id\}\/[\w-]+$/.test(path);
}

function objectOf(endpoint: RequestFacts['endpoint'], path: string): string {
  const below = path.replace(/^\/v1\//, '');
  return actionOf(endpoint) === VERBS[endpoint.method] ? below : below.slice(0, below.lastIndexOf('/'));
}
