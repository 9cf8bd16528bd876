import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { StatementOutcome } from './statements.ts';

/** Runs one statement on the thread of its connection. Rejects with a StoreError. */
export type Execute = (sql: string, parameters: readonly unknown[]) => Promise<StatementOutcome>;

/** A Kysely dialect for SQLite: one connection that runs statements one after the other through `execute`. */
export function sqliteDialect(execute: Execute): Dialect {
  return {
    createDriver: () => driverOf(connection(execute)),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new NodeSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Features of this SQLite that Kysely does not assume. */
class NodeSqliteAdapter extends SqliteAdapter {
  /** CREATE TABLE is rolled back too, so a migration is applied whole or not at all. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** `execute` has its own bounded queue; Kysely's queue before it would be unbounded. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Transactions of the migrator. The owner of the connection closes it. */
function driverOf(only: DatabaseConnection): Driver {
  const run = (sql: string) => async (on: DatabaseConnection) => {
    await on.executeQuery(CompiledQuery.raw(sql));
  };
  const nothing = async () => {};
  return {
    init: nothing,
    acquireConnection: async () => only,
    beginTransaction: run('BEGIN IMMEDIATE'),
    commitTransaction: run('COMMIT'),
    rollbackTransaction: run('ROLLBACK'),
    releaseConnection: nothing,
    destroy: nothing,
  };
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
