import type { SqliteFailure } from './errors.ts';

/** What the reading thread is started with. */
export type ReaderData = { path: string };

export type ReaderRequest =
  | { id: number; kind: 'query'; sql: string; parameters: readonly unknown[] }
  | { id: number; kind: 'checkpoint' };

export type ReaderReply =
  | { id: number; ok: true; rows: unknown[] }
  | { id: number; ok: false; failure: SqliteFailure };

/** The one row of `PRAGMA wal_checkpoint`: frames in the journal, and how many of them are in the database file now. */
export type CheckpointRow = { busy: number; log: number; checkpointed: number };
