import { SvcError } from '@svc/shared/errors.ts';

/** Path of the attribute at fault inside the resource: `['monitor_ids', 2]`. Empty: the resource as a whole. */
export type AttributePath = readonly (string | number)[];

/** Base of everything that can be wrong with a change of the declarations; nothing was changed then. */
export abstract class ConfigurationError extends SvcError {
  readonly path: AttributePath;

  constructor(code: SvcError['code'], message: string, path: AttributePath = []) {
    super(code, message);
    this.path = path;
  }
}

/** No such resource in this workspace; another workspace's looks the same. */
export class NotFound extends ConfigurationError {
  constructor(message: string) {
    super('not-found', message);
  }
}

const CONFLICT_REASONS = [
  /** Slug or custom domain belongs to another page, of whatever workspace. */
  'taken',
  /** Owned by the declared file and written by the API. */
  'declared-in-file',
  /** Other resources point at it and nothing was said about what becomes of them. */
  'in-use',
] as const;
export type ConflictReason = (typeof CONFLICT_REASONS)[number];

export class Conflict extends ConfigurationError {
  readonly reason: ConflictReason;

  constructor(reason: ConflictReason, message: string, path: AttributePath = []) {
    super('conflict', message, path);
    this.reason = reason;
  }
}

/** An attribute names a resource that is not there, or is of the wrong kind or page. */
export class InvalidReference extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('invalid-reference', message, path);
  }
}

/** The row's version is not the expected one: somebody wrote in between. */
export class PreconditionFailed extends ConfigurationError {
  constructor(message: string) {
    super('precondition-failed', message);
  }
}

/** The attribute cannot change while the resource lives: remove it and create another. */
export class Immutable extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('immutable', message, path);
  }
}
