import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';

/**
 * The result of one statement. `rows`: the returned rows, which include the ids of
 * inserted rows if the statement asks for them. `changes`: the number of returned rows,
 * or of written rows if the statement returns no rows; 0 on a connection that only reads SQLite.
 */
export type StatementOutcome = {
  readonly rows: unknown[];
  readonly changes: number;
};

/**
 * Runs one statement. The functions of a `Store` reject with a StoreError. Those of `openReadingFile` and of
 * `Connection` (PostgreSQL) reject with the error of the database.
 */
export type Execute = (sql: string, parameters: readonly unknown[]) => Promise<StatementOutcome>;

/**
 * Returns a Kysely driver that runs every statement through `execute`. Only the migrator begins transactions
 * through this driver. The owner of the connection closes the connection.
 *
 * @param begin the statement that begins a transaction
 */
export function driverOf(execute: Execute, begin: string): Driver {
  const only = connection(execute);
  const run = (sql: string) => async (on: DatabaseConnection) => {
    await on.executeQuery(CompiledQuery.raw(sql));
  };
  const nothing = async () => {};
  return {
    init: nothing,
    acquireConnection: async () => only,
    beginTransaction: run(begin),
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
      };
    },
    streamQuery() {
      throw new TypeError('rows are not streamed: ask for a page at a time');
    },
  };
}
