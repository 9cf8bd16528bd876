import { SvcError } from '@svc/shared/errors.ts';

/**
 * Path of the attribute at fault inside the resource: `['monitor_ids', 2]`. Empty: the resource as a whole.
 */
export type AttributePath = readonly (string | number)[];

/** Base of all errors of a change of the declarations; nothing was changed then. */
export abstract class ConfigurationError extends SvcError {
  readonly path: AttributePath;
  /** Of several resources that are written together, the one at fault; null: there is one only. */
  index: number | null = null;

  constructor(code: SvcError['code'], message: string, path: AttributePath = []) {
    super(code, message);
    this.path = path;
  }
}

/** There is no such resource in this workspace; a resource of another workspace looks the same. */
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
  /** Other resources refer to it, and the request does not say what happens to them. */
  'in-use',
  /** The workspace has as many as it may have. */
  'too-many',
  /** What svc itself keeps cannot be removed or written by people. */
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

/** The operator does not let svc connect to the place that an attribute names. */
export class DeniedEndpoint extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('denied-endpoint', message, path);
  }
}

/** The row's version is not the expected one: it was written in between. */
export class PreconditionFailed extends ConfigurationError {
  constructor(message: string) {
    super('precondition-failed', message);
  }
}

/** The attribute cannot change during the resource's life: remove the resource and create another one. */
export class Immutable extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('immutable', message, path);
  }
}
