import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { StatementOutcome } from './statements.ts';

/** Runs one statement, on whatever thread the implementation uses. Rejects with StoreError. */
export type Execute = (sql: string, parameters: readonly unknown[]) => Promise<StatementOutcome>;

/** A Kysely dialect for SQLite: one connection that runs statements one after the other through `execute`. */
export function sqliteDialect(execute: Execute): Dialect {
  return {
    createDriver: () => new SingleConnectionDriver(execute),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new NodeSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Features of this SQLite that Kysely does not assume. */
class NodeSqliteAdapter extends SqliteAdapter implements DialectAdapter {
  /** CREATE TABLE is rolled back too, so a migration is applied whole or not at all. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** `execute` has its own bounded queue; Kysely's queue before it would be unbounded. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class SingleConnectionDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(execute: Execute) {
    this.#connection = connection(execute);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(on: DatabaseConnection): Promise<void> {
    await on.executeQuery(CompiledQuery.raw('BEGIN IMMEDIATE'));
  }

  async commitTransaction(on: DatabaseConnection): Promise<void> {
    await on.executeQuery(CompiledQuery.raw('COMMIT'));
  }

  async rollbackTransaction(on: DatabaseConnection): Promise<void> {
    await on.executeQuery(CompiledQuery.raw('ROLLBACK'));
  }

  async releaseConnection(): Promise<void> {}

  /** The owner of the connection closes it. */
  async destroy(): Promise<void> {}
}

function connection(execute: Execute): DatabaseConnection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const outcome = await execute(query.sql, query.parameters);
      return {
        rows: outcome.rows as R[],
        numAffectedRows: BigInt(outcome.changes),
        insertId: BigInt(outcome.lastInsertRowid),
      };
    },
    streamQuery() {
      throw new TypeError('rows are not streamed: ask for a page at a time');
    },
  };
}
