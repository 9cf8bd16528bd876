import type { Secret } from '@svc/shared/secret.ts';
import type pg from 'pg';
import type { Execute, StatementOutcome } from '../one-connection.ts';
import type { RowOutcome, SqlStep } from '../store.ts';
import { Exchange, PreparedStatements } from './exchange.ts';

/** Maximum duration of one statement, ms. The server cancels a statement that takes longer. */
const STATEMENT_LIMIT_MS = 30_000;
/** Maximum time for which a statement waits for a lock, ms. It is the same as `BUSY_LIMIT_MS` of SQLite. */
export const LOCK_LIMIT_MS = 5_000;
/**
 * Maximum time without a statement in an open transaction, ms. After this time the server ends the
 * connection, because the process at its other end may be frozen while other processes wait for the
 * transaction's lock. The time is shorter than a lease.
 */
const IDLE_LIMIT_MS = 3_000;
/** Maximum wait for all answers of one exchange, ms. After this time the client gives the connection up. */
const ANSWER_LIMIT_MS = 60_000;
const DIAL_LIMIT_MS = 10_000;
/**
 * Time without traffic after which client and server each check that the other side still answers (TCP
 * keepalive), ms.
 */
const KEEPALIVE_MS = 10_000;

const SETTINGS = {
  statement_timeout: STATEMENT_LIMIT_MS,
  // At a stricter level, a transaction would not see transactions that were committed while it waited for its
  // lock.
  default_transaction_isolation: 'read committed',
  lock_timeout: LOCK_LIMIT_MS,
  idle_in_transaction_session_timeout: IDLE_LIMIT_MS,
  // With these values, the server notices within half a minute that this machine is gone, and releases its
  // locks.
  tcp_keepalives_idle: KEEPALIVE_MS / 1_000,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  // The forms in which values are read: bytes in hexadecimal digits, and fractions with all of their digits.
  bytea_output: 'hex',
  extra_float_digits: 1,
  // Our queries are short: compiling one (JIT) would take longer than running it.
  jit: 'off',
} as const;

/** The server to connect to, and whether its connections may write. */
export type Dialled = {
  readonly url: Secret;
  readonly may: 'read' | 'write';
};

/** The settings of a client for this server. */
export function clientSettings({ url }: Pick<Dialled, 'url'>): pg.ClientConfig {
  return {
    connectionString: url.reveal(),
    application_name: 'svc',
    connectionTimeoutMillis: DIAL_LIMIT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
  };
}

/**
 * A connection with its prepared statements. The caller must run one exchange at a time. Errors are those of the
 * client and the server; `postgresErrorOf` makes StoreErrors of them.
 */
export class Connection {
  readonly #client: pg.Client;
  readonly #statements = new PreparedStatements();

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /**
   * Sets the session's settings. The caller must await this before the first exchange, and must not use the
   * connection if this fails.
   */
  async setUp(may: Dialled['may']): Promise<void> {
    const settings = Object.entries({
      ...SETTINGS,
      ...(may === 'read' ? { default_transaction_read_only: 'on' } : {}),
    });
    await this.runAll([
      { sql: 'SELECT set_config(?, ?, false)', rows: settings.map(([name, value]) => [name, String(value)]) },
      // With `off` as its default, the server would answer a commit before the commit is on the disk.
      {
        sql: "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        rows: [[]],
      },
    ]);
  }

  readonly run: Execute = async (sql, parameters) => {
    const [answer] = await this.#exchange([{ sql, rows: [parameters] }], true);
    const { rows = [], outcomes = [] } = answer ?? {};
    return { rows, changes: outcomes[0]?.changes ?? 0 } satisfies StatementOutcome;
  };

  /** Runs each statement for each of its rows of parameters, in one round trip. Ends at the first error. */
  async runAll(steps: readonly SqlStep[]): Promise<readonly (readonly RowOutcome[])[]> {
    return (await this.#exchange(steps, false)).map(({ outcomes }) => outcomes);
  }

  async #exchange(
    steps: readonly { sql: string; rows: readonly (readonly unknown[])[] }[],
    keepRows: boolean,
  ) {
    const exchange = new Exchange(this.#statements, steps, keepRows);
    // All exchanges of the client then fail, also those that it has not sent yet.
    const timer = setTimeout(() => this.#client.connection.stream.destroy(), ANSWER_LIMIT_MS);
    try {
      this.#client.query(exchange);
      return await exchange.answers;
    } finally {
      clearTimeout(timer);
    }
  }
}
