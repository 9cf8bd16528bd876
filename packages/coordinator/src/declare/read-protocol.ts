import type { DeclaredEntry } from './declaration.ts';
import type { LocatedError } from './located-error.ts';

/** The input of the reading thread. */
export type ReadRequest = {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
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

/**
 * The thread posts one `outcome`. Then the main thread fetches a valid declaration in chunks with the message
 * `next`, so that it decides when it takes each one. `null` ends them.
 */
export type ReadOutcome = {
  /** SHA-256 of the file, hex; empty when it could not be read. */
  readonly digest: string;
  /** The sources that were inserted or should have been. */
  readonly inserted: Inserted;
  readonly errors: readonly LocatedError[];
  /** Parts of the declaration that have no effect. */
  readonly warnings: readonly LocatedError[];
};

export const NEXT = 'next';
export type ReadChunk = readonly DeclaredEntry[] | null;

/** Entries in a chunk. Taking over a chunk takes about 1 ms. */
export const CHUNK_ENTRIES = 100;

/** Most errors, and most warnings, that are handed over. People with more fix the first ones first. */
export const MAX_ERRORS = 1_000;
