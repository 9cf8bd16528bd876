import {
  type Dialect,
  type Kysely,
  type MigrationLockOptions,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawNode,
  sql,
} from 'kysely';
import { postgresForm } from '../dialect.ts';
import { driverOf, type Execute } from '../one-connection.ts';

/**
 * The key of the lock that each transaction and each migration holds. It is an arbitrary number that must
 * never change.
 */
export const WRITER_LOCK = '8319394187178928500';

/** A Kysely dialect for PostgreSQL, whose statements run through `execute`. */
export function postgresDialect(execute: Execute): Dialect {
  return {
    createDriver: () => driverOf(execute, 'BEGIN'),
    createQueryCompiler: () => new FormCompiler(),
    createAdapter: () => new WritingAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

/**
 * Takes the lock of transactions for each migration, so that no coordinator runs a transaction meanwhile: the
 * statements of older versions are made for the tables as they were before.
 */
class WritingAdapter extends PostgresAdapter {
  override async acquireMigrationLock<DB>(db: Kysely<DB>, options: MigrationLockOptions): Promise<void> {
    await super.acquireMigrationLock(db, options);
    await sql`SELECT pg_advisory_lock(CAST(${WRITER_LOCK} AS bigint))`.execute(db);
  }

  override async releaseMigrationLock<DB>(db: Kysely<DB>, options: MigrationLockOptions): Promise<void> {
    await sql`SELECT pg_advisory_unlock(CAST(${WRITER_LOCK} AS bigint))`.execute(db);
    await super.releaseMigrationLock(db, options);
  }
}

/** A query compiler that uses the PostgreSQL form of the parts defined in `dialect.ts`. */
class FormCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    super.visitRaw(postgresForm(node));
  }
}
