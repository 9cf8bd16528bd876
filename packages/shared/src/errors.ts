/**
 * Base of the errors that svc itself raises. `code` is stable and may be matched on; the message
 * says what was attempted and with which ids, and never contains a secret.
 */
export class SvcError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** The message of anything thrown, for logs and results; never the stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
