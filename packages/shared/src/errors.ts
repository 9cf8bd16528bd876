import type { ProblemCode } from './api/problem-codes.ts';
import type { ErrorCode } from './error-codes.ts';

/**
 * Base class of the errors that svc itself raises. `code` is stable, and programs may match on it. The
 * message says what failed, and never contains a secret. A programmer's mistake is a `RangeError` or a
 * `TypeError` instead.
 */
export class SvcError extends Error {
  readonly code: ErrorCode | ProblemCode;

  constructor(code: ErrorCode | ProblemCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/**
 * The `code` of an error of the system, of Node, of a library or of svc, such as `ENOENT`; empty when the
 * value has no code, or is no error.
 */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code ?? '') : '';
}

/** Whether a thrown value is an error with one of these codes. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(codeOf(error));
}

/** The message of any thrown value, for logs and results; never the stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
