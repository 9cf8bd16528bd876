import {
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawNode,
} from 'kysely';
import { postgresForm } from '../dialect.ts';
import { driverOf, type Execute } from '../one-connection.ts';

/** A Kysely dialect for PostgreSQL, whose statements run through `execute`. */
export function postgresDialect(execute: Execute): Dialect {
  return {
    createDriver: () => driverOf(execute, 'BEGIN'),
    createQueryCompiler: () => new FormCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

/** A query compiler that uses the PostgreSQL form of the parts defined in `dialect.ts`. */
class FormCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    super.visitRaw(postgresForm(node));
  }
}
