import type { Answer } from '../answer.ts';

/** What a client made of an answer. */
export type Observation =
  /** `body` is left out by clients that tell only how long it was. */
  { status: number; bytes: number; body?: string } | { refused: string };

/** A client that answers of the corpus are given to, one after the other. */
export interface Client {
  readonly version: string;
  ask(url: string, answer: Answer): Promise<Observation>;
  close(): Promise<void>;
}
