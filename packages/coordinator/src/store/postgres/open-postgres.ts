import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { sql } from 'kysely';
import type { DatabaseSizes } from '../database-sizes.ts';
import { appliedTo, migrate } from '../migrate.ts';
import { SerialStore } from '../serial-store.ts';
import type { Store, StoreReading } from '../store.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { PostgresReader } from './postgres-reader.ts';
import { PostgresWriter } from './postgres-writer.ts';

/** Maximum number of connections that read for pages and the API. */
const READERS = 4;
/** Maximum number of connections that read for {@link Store.work}. */
const WORK_READERS = 2;

/**
 * Opens the PostgreSQL database at `url`, and migrates it to this version.
 *
 * @throws StoreError `store-newer`, `store-foreign`, `store-writer-lost` (no connection), `store-error` (a version or
 *   an encoding that svc does not support), or PostgreSQL's error
 */
export async function openPostgres({ url, log }: { url: Secret; log: Logger }): Promise<Store> {
  const [reader, workReader] = [
    new PostgresReader(url, READERS, log),
    new PostgresReader(url, WORK_READERS, log),
  ];
  const onLost = () => {
    reader.drop();
    workReader.drop();
  };
  const writer = new PostgresWriter({ url, onLost, log });
  try {
    await migrate(postgresDialect(writer.run), 'the PostgreSQL database', log);
    await writer.forgetMarks();
    return new SerialStore({ writer, reader, workReader, unlock: () => {}, log });
  } catch (error) {
    await Promise.all([writer.close(), reader.close(), workReader.close()]);
    throw error;
  }
}

/** Opens a migrated PostgreSQL database for reading, through at most one connection at a time. */
export function openPostgresReading({ url, log }: { url: Secret; log: Logger }): StoreReading {
  const reader = new PostgresReader(url, 1, log);
  return { read: reader.db, close: () => reader.close() };
}

/** Reads what server this is, see `examineServer`. */
export async function examinePostgres(parts: {
  url: Secret;
  log: Logger;
}): Promise<{ version: string; isReadOnly: boolean }> {
  const { read, close } = openPostgresReading(parts);
  try {
    await appliedTo(read, 'the PostgreSQL database');
    const { rows } = await sql<{ version: string; standby: number }>`
      SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby`.execute(read);
    return { version: rows[0]?.version ?? '', isReadOnly: Boolean(rows[0]?.standby) };
  } finally {
    await close();
  }
}

/**
 * The size of the database. The other sizes are NaN, because an ordinary role cannot read the size of the server's
 * journal or the free space on its disk.
 */
export async function postgresSizes({ work }: Pick<Store, 'work'>): Promise<DatabaseSizes> {
  const { rows } = await sql<{ size: number }>`SELECT pg_database_size(current_database()) AS size`.execute(
    work,
  );
  return { file: rows[0]?.size ?? Number.NaN, journal: Number.NaN, free: Number.NaN };
}
