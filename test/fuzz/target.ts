import type { Random } from '../simulation/random.ts';

/** A parser under fuzz: its inputs, and the promises that must hold for all of them. */
export type FuzzTarget = {
  /** Name for `--only`, in kebab case. */
  readonly name: string;
  /** Inputs that mean something to the parser; not empty. */
  readonly corpus: readonly Buffer[];
  /** Texts that are inserted into inputs, one character per byte. */
  readonly words: readonly string[];
  /** A mutation in the parser's own grammar, in addition to those of bytes. */
  readonly mutate?: (input: Buffer, random: Random) => Buffer;
  /** The parser alone; its time and its memory are measured. */
  readonly parse: (input: Buffer) => unknown;
  /** Whether this is an error with which the parser refuses an input. */
  readonly isRefusal: (error: unknown) => boolean;
  /**
   * Checks further promises for an input, and throws when one does not hold. The random numbers are the same for
   * the same case.
   */
  readonly check?: (input: Buffer, random: Random) => void | Promise<void>;
  /** Longest CPU time of `parse`, ms; 50 by default. */
  readonly mostMs?: number;
  /** Longest input, bytes; 64 KiB by default. */
  readonly mostBytes?: number;
};

export const MOST_MS = 50;
export const MOST_BYTES = 64 * 1_024;

/** For parsers that never refuse an input with an error. */
export const never = (): boolean => false;

/** One character per byte. */
export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
