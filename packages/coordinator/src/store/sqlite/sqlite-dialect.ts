import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { driverOf, type Execute } from '../one-connection.ts';

/**
 * Returns a Kysely dialect for SQLite. It has one connection, which runs
 * statements one after the other through `execute`.
 */
export function sqliteDialect(execute: Execute): Dialect {
  return {
    createDriver: () => driverOf(execute, 'BEGIN IMMEDIATE'),
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

  /**
   * `execute` decides how many statements may wait. If Kysely assumed a
   * single connection, it would put an unbounded queue in front of `execute`.
   */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}
