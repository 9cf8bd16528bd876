import type { DeclaredEntry } from './declaration.ts';
import type { LocatedError } from './located-error.ts';

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

/** A message of the reading thread: some entries in order of dependency, or at last the outcome. */
export type ReadMessage = readonly DeclaredEntry[] | ReadOutcome;

export type ReadOutcome = {
  /** SHA-256 of the file, hex; empty when it could not be read. */
  readonly digest: string;
  /** The sources that were inserted or should have been. */
  readonly inserted: Inserted;
  readonly errors: readonly LocatedError[];
  /** Parts of the declaration that have no effect. */
  readonly warnings: readonly LocatedError[];
};

/** Bounds of the declared file and of a file that it inserts, bytes. */
export const MAX_FILE_BYTES = 64 * 1_024 * 1_024;
export const MAX_INSERTED_BYTES = 1_024 * 1_024;

/** Most errors, and most warnings, that are handed over. People with more fix the first ones first. */
export const MAX_ERRORS = 1_000;
