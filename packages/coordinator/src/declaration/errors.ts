import { SvcError } from '@svc/shared/errors.ts';

/**
 * Path of the wrong attribute inside the resource: `['monitor_ids', 2]`. Empty: the whole resource is wrong.
 */
export type AttributePath = readonly (string | number)[];

/** Base of all errors that refuse a change of the declaration. Nothing was changed. */
export abstract class ConfigurationError extends SvcError {
  readonly path: AttributePath;
  /** Index of the wrong resource among those that are written together; null: there is only one. */
  index: number | null = null;

  constructor(code: SvcError['code'], message: string, path: AttributePath = []) {
    super(code, message);
    this.path = path;
  }
}

/** The workspace has no such resource. A resource of another workspace gives the same error. */
export class NotFound extends ConfigurationError {
  constructor(message: string) {
    super('not-found', message);
  }
}

const CONFLICT_REASONS = [
  /** The slug or custom domain belongs to another page, in any workspace. */
  'taken',
  /** The declared file owns the resource, and the API tried to write it. */
  'declared-in-file',
  /** Other resources refer to it, and the request does not say what to do with them. */
  'in-use',
  /** The workspace has the largest allowed number of them. */
  'too-many',
  /** svc keeps it itself, so people cannot remove or write it. */
  'kept-by-svc',
] as const;
export type ConflictReason = (typeof CONFLICT_REASONS)[number];

export class Conflict extends ConfigurationError {
  readonly reason: ConflictReason;

  constructor(reason: ConflictReason, message: string, path: AttributePath = []) {
    super('conflict', message, path);
    this.reason = reason;
  }
}

/** An attribute names a resource that does not exist, or that has the wrong kind or page. */
export class InvalidReference extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('invalid-reference', message, path);
  }
}

/** The operator does not let svc connect to the address that an attribute names. */
export class DeniedEndpoint extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('denied-endpoint', message, path);
  }
}

/** The row does not have an expected version: another change was written in between. */
export class PreconditionFailed extends ConfigurationError {
  constructor(message: string) {
    super('precondition-failed', message);
  }
}

/** The attribute of an existing resource cannot be changed: a new resource is needed. */
export class Immutable extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('immutable', message, path);
  }
}
