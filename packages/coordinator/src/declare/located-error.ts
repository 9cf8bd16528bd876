import { SvcError } from '@svc/shared/errors.ts';

/** Something wrong with the declared file, where it stands. Lines and columns count from 1. */
export type LocatedError = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/** Errors listed at most; the rest is counted. */
const LISTED = 200;

/** As compilers write it, so that editors can jump there. */
export function formatError({ file, line, column, message }: LocatedError): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** The declaration as a whole was refused; nothing was changed. */
export class DeclarationError extends SvcError {
  readonly errors: readonly LocatedError[];

  /** @param errors at least one */
  constructor(errors: readonly LocatedError[], options?: { cause?: unknown }) {
    super('declaration', listing(errors), options);
    this.errors = errors;
  }
}

function listing(errors: readonly LocatedError[]): string {
  const lines = errors.slice(0, LISTED).map(formatError);
  if (errors.length > LISTED) lines.push(`… and ${errors.length - LISTED} more errors`);
  return lines.join('\n');
}
