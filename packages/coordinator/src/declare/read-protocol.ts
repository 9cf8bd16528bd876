import type { LocatedError } from './located-error.ts';
import type { Piece } from './packed-entries.ts';

/** The input of the reading thread. */
export type ReadRequest = {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `SVC_CHANNEL_EGRESS_ALLOW`, for warnings; left out: none. */
  readonly channelEgressAllow?: readonly string[] | undefined;
};

/** The sources of a declaration outside of its file. */
export type Inserted = {
  readonly files: readonly InsertedFile[];
  /** Names of environment variables. */
  readonly variables: readonly string[];
};

export type InsertedFile = {
  /** Name as written in the declared file, relative to that file's folder. */
  readonly name: string;
  /** SHA-256, hex; null: the file could not be read. */
  readonly digest: string | null;
};

/** The answer of the reading thread: its only message. */
export type ReadAnswer = ReadOutcome & {
  /** Entries in order of dependency; none when there are errors. */
  readonly pieces: readonly Piece[];
};

export type ReadOutcome = {
  /** SHA-256 of the file, hex; empty when it could not be read. */
  readonly digest: string;
  /** The sources that were inserted or should have been. */
  readonly inserted: Inserted;
  readonly errors: readonly LocatedError[];
  /** Parts of the declaration that have no effect. */
  readonly warnings: readonly LocatedError[];
};

/** Most errors, and most warnings, that are handed over. People with more fix the first ones first. */
export const MAX_ERRORS = 1_000;
