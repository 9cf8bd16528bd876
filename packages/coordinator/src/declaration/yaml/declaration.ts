import { SvcError } from '@svc/shared/errors.ts';
import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';

/** An entry of a valid declaration. It is plain data, because one thread posts it to another. */
export type DeclaredEntry = {
  [K in ResourceKind]: {
    readonly kind: K;
    readonly name: string;
    /**
     * Normalized attributes. In place of an id, an attribute may contain
     * a reference to another entry (`${svc_http_monitor.api.id}`).
     */
    readonly attributes: Resources[K];
    /** Position of the entry's name. Lines and columns count from 1. */
    readonly line: number;
    readonly column: number;
  };
}[ResourceKind];

/** The address of an entry in the declared file: `svc_http_monitor.api`. */
export type Address = string;

export function addressOf({ kind, name }: { kind: ResourceKind; name: string }): Address {
  return `${kind}.${name}`;
}

/**
 * Pattern of the local names of entries. Terraform accepts
 * the same names, so a file can be converted to Terraform.
 */
const LOCAL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

/** Whether an entry may have this name. */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(name);
}

/** An error in the declared file with its position. Lines and columns count from 1. */
export type LocatedError = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/**
 * Maximum number of errors that the message of a {@link DeclarationError}
 * lists. The message also gives the number of the errors that it leaves out.
 */
const LISTED = 200;

/** Formats an error in the way of compilers, so that editors can jump to its position. */
export function formatError({ file, line, column, message }: LocatedError): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** The declaration is refused as a whole, and nothing was changed. */
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
