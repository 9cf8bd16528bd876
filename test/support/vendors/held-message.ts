/** A message as a vendor shows it to people. */
export type HeldMessage = {
  /** Without markup. */
  readonly text: string;
  /** The addresses that its text links, from its beginning on. */
  readonly links: readonly string[];
  /** The name of the thread, which its messages share; null: the message belongs to no thread. */
  readonly thread: string | null;
  /** The parts of its text that notified people, or that show another address than their target. */
  readonly mentions: readonly string[];
};
