/** A message as a vendor shows it to people. */
export type HeldMessage = {
  /** Text of the message, without markup. */
  readonly text: string;
  /** The addresses that its text links, from its beginning on. */
  readonly links: readonly string[];
  /** Name of the thread that the message belongs to; null: it belongs to no thread. */
  readonly thread: string | null;
  /** The parts of its text that notified people, or that show another address than their target. */
  readonly mentions: readonly string[];
};
