import type { DeclaredEntry } from './declaration.ts';
import type { LocatedError } from './located-error.ts';

/** What the reading thread is started with. */
export type ReadRequest = {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** What a declaration takes from outside of its file. */
export type Inserted = {
  readonly files: readonly InsertedFile[];
  /** Names of environment variables. */
  readonly variables: readonly string[];
};

export type InsertedFile = {
  /** As it is written in the declared file: relative to that file's folder. */
  readonly name: string;
  /** SHA-256, hex; null: it could not be read. */
  readonly digest: string | null;
};

/**
 * The thread answers one `outcome`. A valid declaration is then fetched in chunks, each asked for with
 * the message `next`, so that the main thread decides when it takes the next one; `null` ends them.
 */
export type ReadOutcome = {
  /** SHA-256 of the file, hex; empty when it could not be read. */
  readonly digest: string;
  /** What was inserted, or was to be. */
  readonly inserted: Inserted;
  readonly errors: readonly LocatedError[];
  /** What of it has no effect. */
  readonly warnings: readonly LocatedError[];
};

export const NEXT = 'next';
export type ReadChunk = readonly DeclaredEntry[] | null;

/** Entries per chunk: about 1 ms to take over. */
export const CHUNK_ENTRIES = 100;

/** Errors, and warnings, handed over at most; somebody with more mends the first ones first. */
export const MAX_ERRORS = 1_000;
