import type { Answer } from '../answer.ts';

/** What a client made of an answer. */
export type Observation =
  /** Clients that report only the length of the body leave `body` out. */
  { status: number; bytes: number; body?: string } | { refused: string };

/** A client that gets the answers of the corpus, one after the other. */
export interface Client {
  readonly version: string;
  ask(url: string, answer: Answer): Promise<Observation>;
  close(): Promise<void>;
}
