import { createHash, randomBytes } from 'node:crypto';
import type { Store, Transaction } from './store.ts';
import { wholeMs } from './whole-ms.ts';

export type TokenScope = 'read' | 'write';

export type Token = {
  readonly id: number;
  readonly workspaceId: number;
  readonly name: string;
  readonly scope: TokenScope;
  /** The first token of the first workspace: it may manage workspaces, and cannot be revoked. */
  readonly isOperator: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
};

/** What a new token may do, and where. */
export type TokenGrant = Pick<Token, 'workspaceId' | 'name' | 'scope'>;

const OPERATOR_NAME = 'SVC_API_TOKEN';

export function generateToken(): string {
  return `svc_${randomBytes(32).toString('base64url')}`;
}

/** Tokens are long and random, so one round of a plain hash is enough: there is nothing to guess from. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * The tokens that are valid now. They are few and every request needs one, so they are kept in memory
 * by their hash; the database keeps nothing but the hash either.
 */
export class Tokens {
  readonly #store: Store;
  readonly #byHash = new Map<string, Token>();

  private constructor(store: Store) {
    this.#store = store;
  }

  static async load(store: Store): Promise<Tokens> {
    const tokens = new Tokens(store);
    const rows = await store.read.selectFrom('tokens').selectAll().where('revoked_at', 'is', null).execute();
    for (const row of rows) {
      tokens.#byHash.set(row.hash, {
        id: row.id,
        workspaceId: row.workspace_id,
        name: row.name,
        scope: row.scope,
        isOperator: row.is_operator === 1,
        createdAt: row.created_at,
      });
    }
    return tokens;
  }

  /** Whose request this is, or null for an unknown or revoked token. */
  lookup(token: string): Token | null {
    return this.#byHash.get(hashOf(token)) ?? null;
  }

  /** By ascending id. */
  list(workspaceId: number): Token[] {
    return [...this.#byHash.values()]
      .filter((token) => token.workspaceId === workspaceId)
      .sort((a, b) => a.id - b.id);
  }

  /** The secret is in the answer and nowhere else. */
  create(grant: TokenGrant, now: number): Promise<{ token: Token; secret: string }> {
    return this.#store.transaction((tx) => this.createIn(tx, grant, now));
  }

  /** {@link create} as a part of a transaction. */
  async createIn(tx: Transaction, grant: TokenGrant, now: number): Promise<{ token: Token; secret: string }> {
    const secret = generateToken();
    return { token: await this.#insert(tx, secret, { ...grant, isOperator: false }, now), secret };
  }

  /** Answers why not: there is no such token in the workspace, or it is the operator's (change SVC_API_TOKEN instead). */
  async revoke(workspaceId: number, id: number, now: number): Promise<'revoked' | 'unknown' | 'operator'> {
    const entry = [...this.#byHash].find(([, token]) => token.id === id && token.workspaceId === workspaceId);
    if (entry === undefined) return 'unknown';
    const [hash, token] = entry;
    if (token.isOperator) return 'operator';
    await this.#store.transaction(async (tx) => {
      await tx.db
        .updateTable('tokens')
        .set({ revoked_at: wholeMs(now) })
        .where('id', '=', id)
        .execute();
      tx.onCommit(() => this.#byHash.delete(hash));
    });
    return 'revoked';
  }

  /** Makes `secret` the operator's token of the workspace; the one of an earlier start stops working. */
  async setOperatorToken(workspaceId: number, secret: string, now: number): Promise<Token> {
    const current = this.lookup(secret);
    if (current?.isOperator === true && current.workspaceId === workspaceId) return current;
    return this.#store.transaction(async (tx) => {
      // A token made over the API may be named as the operator's: it becomes that.
      const replaced = [...this.#byHash].filter(
        ([hash, token]) => token.isOperator || hash === hashOf(secret),
      );
      await tx.db
        .deleteFrom('tokens')
        .where((row) => row.or([row('is_operator', '=', 1), row('hash', '=', hashOf(secret))]))
        .execute();
      tx.onCommit(() => {
        for (const [hash] of replaced) this.#byHash.delete(hash);
      });
      return this.#insert(
        tx,
        secret,
        { workspaceId, name: OPERATOR_NAME, scope: 'write', isOperator: true },
        now,
      );
    });
  }

  async #insert(
    tx: Transaction,
    secret: string,
    grant: Omit<Token, 'id' | 'createdAt'>,
    now: number,
  ): Promise<Token> {
    const hash = hashOf(secret);
    const createdAt = wholeMs(now);
    const { insertId } = await tx.db
      .insertInto('tokens')
      .values({
        workspace_id: grant.workspaceId,
        name: grant.name,
        scope: grant.scope,
        hash,
        is_operator: grant.isOperator ? 1 : 0,
        created_at: createdAt,
        revoked_at: null,
      })
      .executeTakeFirstOrThrow();
    const token: Token = { id: Number(insertId), ...grant, createdAt };
    tx.onCommit(() => this.#byHash.set(hash, token));
    return token;
  }
}
