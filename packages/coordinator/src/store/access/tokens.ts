import { createHash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Secret } from '@svc/shared/secret.ts';
import { type Selectable, sql } from 'kysely';
import { wholeMs } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { Store, Transaction } from '../store.ts';
import { type AuditLine, appendAudit } from './audit.ts';

/**
 * The scopes of tokens. Each scope includes the scopes before it in this list. `admin` manages tokens and
 * reads the audit trail.
 */
export const TOKEN_SCOPES = ['read', 'write', 'admin'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Whether a token of scope `given` may act where scope `needed` is required. */
export function scopeIncludes(given: TokenScope, needed: TokenScope): boolean {
  return TOKEN_SCOPES.indexOf(given) >= TOKEN_SCOPES.indexOf(needed);
}

export type Token = {
  readonly id: number;
  readonly workspaceId: number;
  readonly name: string;
  readonly scope: TokenScope;
  /**
   * Whether SVC_API_TOKEN sets the token. Such a token may manage all
   * workspaces, and cannot be revoked over the API.
   */
  readonly isOperator: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The id and name of the token that created this token. Null: the settings gave this token. */
  readonly createdBy: TokenName | null;
  /** Epoch ms; null: the token does not expire. */
  readonly expiresAt: number | null;
};

/**
 * The version of a token. Sessions and login links are valid for one version of their token only. An
 * operator's token that is removed from the settings and later set again keeps its id but gets a new version,
 * so its former sessions and links do not become valid again.
 */
export function tokenVersion({ createdAt }: Token): string {
  return String(createdAt);
}

export type TokenName = { readonly id: number; readonly name: string };

/** What a new token is created with. Without `createdBy` or `expiresAt`, this member of the token is null. */
export type TokenGrant = Pick<Token, 'workspaceId' | 'name' | 'scope'> &
  Partial<Pick<Token, 'createdBy' | 'expiresAt'>>;

const OPERATOR_NAME = 'SVC_API_TOKEN';

export function generateToken(): string {
  return `svc_${randomBytes(32).toString('base64url')}`;
}

/** One round of a plain hash is enough, because tokens are long and random, so they cannot be guessed. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * The tokens that are not revoked. They are kept in memory by their hashes, because there are few tokens and
 * each request of the API needs one. The database too has only hashes. If another coordinator may change
 * tokens, the caller must {@link reload} them at intervals.
 */
export class Tokens {
  readonly #store: Store;
  #byHash = new Map<string, Token>();
  /** When each token was last used, epoch ms, by token id. */
  readonly #lastUsed = new Map<number, number>();
  readonly #unsavedUses = new Set<number>();
  /** Sequence number of the newest read, or change by this process. Both are counted together. */
  #newest = 0;
  /** Sequence number of the read or change whose result {@link #byHash} shows. */
  #shown = 0;

  private constructor(store: Store) {
    this.#store = store;
  }

  static async load(store: Store): Promise<Tokens> {
    const tokens = new Tokens(store);
    await tokens.reload();
    return tokens;
  }

  /**
   * Reads the tokens again. The rows are ignored if they may be old: if, during this read, this process
   * changed a token or a later read ended.
   *
   * @throws StoreError
   */
  async reload(): Promise<void> {
    const read = ++this.#newest;
    const rows = await this.#store.work
      .selectFrom('tokens')
      .leftJoin('tokens as maker', 'maker.id', 'tokens.created_by')
      .where('tokens.revoked_at', 'is', null)
      .selectAll('tokens')
      .select('maker.name as maker_name')
      .execute();
    if (read < this.#shown) return;
    this.#shown = read;
    const former = this.#byHash;
    this.#byHash = new Map(
      rows.map((row) => {
        const [token, known] = [tokenOf(row, row.maker_name), former.get(row.hash)];
        // An unchanged token stays the same object, because {@link isRevoked} compares objects.
        return [row.hash, known !== undefined && isDeepStrictEqual(known, token) ? known : token];
      }),
    );
    for (const { id, last_used_at: at } of rows) {
      if (at !== null && at > (this.#lastUsed.get(id) ?? 0)) this.#lastUsed.set(id, at);
    }
  }

  /** The token that a request presented; it may have expired. Null: the token is unknown or revoked. */
  lookup(token: string): Token | null {
    return this.#byHash.get(hashOf(token)) ?? null;
  }

  /** The token with this id; it may have expired. Null: the token is unknown or revoked. */
  find(id: number): Token | null {
    for (const token of this.#byHash.values()) if (token.id === id) return token;
    return null;
  }

  /** Whether a token was revoked or changed after it was looked up. */
  isRevoked(token: Token): boolean {
    for (const current of this.#byHash.values()) if (current === token) return false;
    return true;
  }

  /** The tokens of a workspace by ascending id. Expired tokens are listed until they are revoked. */
  list(workspaceId: number): Token[] {
    return [...this.#byHash.values()]
      .filter((token) => token.workspaceId === workspaceId)
      .sort((a, b) => a.id - b.id);
  }

  /** Creates a token. The secret is only in the answer, and is not stored. */
  create(grant: TokenGrant, now: number): Promise<{ token: Token; secret: Secret }> {
    return this.#store.transaction((tx) => this.createIn(tx, grant, now));
  }

  /** Creates a token in the caller's transaction; see {@link create}. */
  async createIn(tx: Transaction, grant: TokenGrant, now: number): Promise<{ token: Token; secret: Secret }> {
    const secret = generateToken();
    const whole = { createdBy: null, expiresAt: null, ...grant, isOperator: false };
    return { token: await this.#put(tx, secret, whole, now), secret: new Secret(secret) };
  }

  /**
   * Revokes a token. `cascade` also revokes each token that this token created, directly or through other
   * tokens, in every workspace. Tokens of SVC_API_TOKEN stay. With `cascade`, the token itself may already be
   * revoked.
   *
   * @returns 'unknown': the workspace has no such token, or the token was already revoked and `cascade` is
   *   not set; 'operator': SVC_API_TOKEN sets the token, and only a change of that setting revokes it
   */
  async revokeIn(
    tx: Transaction,
    { workspaceId, id, cascade }: { workspaceId: number; id: number; cascade: boolean },
    now: number,
  ): Promise<'revoked' | 'unknown' | 'operator'> {
    const row = await tx.db
      .selectFrom('tokens')
      .select(['is_operator', 'revoked_at'])
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirst();
    if (row === undefined || (row.revoked_at !== null && !cascade)) return 'unknown';
    if (row.is_operator === 1 && row.revoked_at === null) return 'operator';
    const made = sql`SELECT t.id FROM tokens t JOIN ended e ON t.created_by = e.id`;
    const { rows } = await sql<{ id: number }>`
      WITH RECURSIVE ended (id) AS (
        SELECT id FROM tokens WHERE id = ${id} ${cascade ? sql`UNION ${made}` : sql``})
      UPDATE tokens SET revoked_at = ${wholeMs(now)}
      WHERE id IN (SELECT id FROM ended) AND revoked_at IS NULL AND is_operator = 0
      RETURNING id`.execute(tx.db);
    const ended = new Set(rows.map((one) => one.id));
    tx.onCommit(() => this.#forget(({ id }) => ended.has(id)));
    return 'revoked';
  }

  /** Revokes a token in a transaction of its own; see {@link revokeIn}. */
  revoke(
    workspaceId: number,
    id: number,
    now: number,
    { cascade = false } = {},
  ): Promise<'revoked' | 'unknown' | 'operator'> {
    return this.#store.transaction((tx) => this.revokeIn(tx, { workspaceId, id, cascade }, now));
  }

  /**
   * Makes `secrets` the operator's tokens of the workspace, and revokes all
   * other operator's tokens, in every workspace.
   */
  async setOperatorTokens(workspaceId: number, secrets: readonly string[], now: number): Promise<void> {
    const hashes = new Set(secrets.map(hashOf));
    const current = [...this.#byHash].filter(([, { isOperator }]) => isOperator);
    const isSame = ([hash, token]: [string, Token]) => hashes.has(hash) && token.workspaceId === workspaceId;
    if (current.length === hashes.size && current.every(isSame)) return;
    await this.#store.transaction(async (tx) => {
      await tx.db
        .updateTable('tokens')
        .set({ revoked_at: wholeMs(now) })
        .where('is_operator', '=', 1)
        .where('revoked_at', 'is', null)
        .where('hash', 'not in', [...hashes])
        .execute();
      const ended = current.filter(([hash]) => !hashes.has(hash));
      await appendAudit(
        tx,
        ended.map(([, token]) => bySettings(token, 'remove', now)),
      );
      tx.onCommit(() => this.#forget((token, hash) => token.isOperator && !hashes.has(hash)));
      const operator = { workspaceId, name: OPERATOR_NAME, scope: 'admin', isOperator: true } as const;
      for (const secret of secrets) {
        if (this.lookup(secret)?.isOperator === true) continue;
        const token = await this.#put(tx, secret, { ...operator, createdBy: null, expiresAt: null }, now);
        await appendAudit(tx, [bySettings(token, 'create', now)]);
      }
    });
  }

  /** The time of the last request with the token, epoch ms; null: no use of the token was recorded. */
  lastUsedAt(tokenId: number): number | null {
    return this.#lastUsed.get(tokenId) ?? null;
  }

  /** Stores the time of a use in memory. {@link saveUses} writes it to the database. */
  noteUse(tokenId: number, now: number): void {
    this.#lastUsed.set(tokenId, wholeMs(now));
    this.#unsavedUses.add(tokenId);
  }

  /**
   * Writes the times of last use that are not in the database yet.
   *
   * @throws StoreError; the next call then writes these times again
   */
  async saveUses(): Promise<void> {
    const uses = [...this.#unsavedUses].map((id) => [this.#lastUsed.get(id) ?? null, id] as const);
    if (uses.length === 0) return;
    this.#unsavedUses.clear();
    try {
      await this.#store.transaction((tx) =>
        tx.runEach('UPDATE tokens SET last_used_at = ? WHERE id = ?', uses),
      );
    } catch (error) {
      for (const [, id] of uses) this.#unsavedUses.add(id);
      throw error;
    }
  }

  #forget(isEnded: (token: Token, hash: string) => boolean): void {
    this.#shown = ++this.#newest;
    for (const [hash, token] of this.#byHash) if (isEnded(token, hash)) this.#byHash.delete(hash);
  }

  /**
   * Stores a token. If a token with this secret exists already,
   * revoked or not, it gets the values of `grant`.
   */
  async #put(
    tx: Transaction,
    secret: string,
    grant: Omit<Token, 'id' | 'createdAt'>,
    now: number,
  ): Promise<Token> {
    const hash = hashOf(secret);
    const granted = {
      workspace_id: grant.workspaceId,
      name: grant.name,
      scope: grant.scope,
      is_operator: grant.isOperator ? 1 : 0,
      created_at: wholeMs(now),
      created_by: grant.createdBy?.id ?? null,
      expires_at: grant.expiresAt,
      revoked_at: null,
    };
    const row = await tx.db
      .insertInto('tokens')
      .values({ ...granted, hash, last_used_at: null })
      .onConflict((conflict) => conflict.column('hash').doUpdateSet(granted))
      .returningAll()
      .executeTakeFirstOrThrow();
    const token = tokenOf(row, grant.createdBy?.name ?? null);
    tx.onCommit(() => {
      this.#shown = ++this.#newest;
      this.#byHash.set(hash, token);
    });
    return token;
  }
}

function bySettings({ id, workspaceId }: Token, action: string, now: number): AuditLine {
  const line = {
    at: now,
    workspaceId,
    actor: 'settings',
    token: null,
    action,
    object: `tokens/${id}`,
  } as const;
  return { ...line, outcome: 'done', status: null, requestId: null, peer: null, detail: null };
}

function tokenOf(row: Selectable<Database['tokens']>, makerName: string | null): Token {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    scope: row.scope,
    isOperator: row.is_operator === 1,
    createdAt: row.created_at,
    createdBy: row.created_by === null || makerName === null ? null : { id: row.created_by, name: makerName },
    expiresAt: row.expires_at,
  };
}
