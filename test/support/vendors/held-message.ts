/** A message as the people see it whom a vendor shows it to. */
export type HeldMessage = {
  /** Without markup. */
  readonly text: string;
  /** What the messages of one thread have in common; null: the message stands alone. */
  readonly thread: string | null;
  /** What in its text notified somebody, or showed another address than it leads to. */
  readonly mentions: readonly string[];
};
