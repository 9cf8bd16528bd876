import { SvcError } from '@svc/shared/errors.ts';

/** An error of the declared file with its place. Lines and columns count from 1. */
export type LocatedError = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/** Most errors that are listed; the rest is counted. */
const LISTED = 200;

/** Formats an error as compilers do, so that editors can jump to it. */
export function formatError({ file, line, column, message }: LocatedError): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** The whole declaration was refused, and nothing was changed. */
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
