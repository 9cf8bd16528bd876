import { SvcError } from '@svc/shared/errors.ts';

/**
 * Path of the wrong attribute in the resource: `['monitor_ids', 2]`.
 * An empty path means that the whole resource is wrong.
 */
export type AttributePath = readonly (string | number)[];

/**
 * Base class of all errors with which a change of the
 * declaration is refused. A refused change changes nothing.
 */
export abstract class ConfigurationError extends SvcError {
  readonly path: AttributePath;
  /** Index of the wrong resource in the call that writes several; null: the call writes only one. */
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
  /** Other resources refer to the resource, and the request does not say what to do with them. */
  'in-use',
  /** The workspace has the maximum number of such objects. */
  'too-many',
  /** svc itself records the object, so people cannot remove or write it. */
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

/**
 * The version of the row is not among the expected versions, because another change was written in between.
 */
export class PreconditionFailed extends ConfigurationError {
  constructor(message: string) {
    super('precondition-failed', message);
  }
}

/** The attribute cannot be changed in an existing resource. Its other value needs a new resource. */
export class Immutable extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('immutable', message, path);
  }
}
