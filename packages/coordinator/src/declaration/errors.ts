import { SvcError } from '@svc/shared/errors.ts';

/**
 * Path of the wrong attribute in the resource: `['monitor_ids', 2]`.
 * An empty path means that the whole resource is wrong.
 */
export type AttributePath = readonly (string | number)[];

/**
 * Base class of all errors with which svc refuses a change of the declaration,
 * of incidents or of maintenance windows. A refused change writes nothing.
 */
export abstract class ConfigurationError extends SvcError {
  readonly path: AttributePath;
  /** Index of the refused entry among the entries of a creation or update; null: it is about none of them. */
  index: number | null = null;

  constructor(code: SvcError['code'], message: string, path: AttributePath = []) {
    super(code, message);
    this.path = path;
  }
}

/**
 * The workspace has no resource with this id. The error is the same if another workspace has the resource.
 */
export class NotFound extends ConfigurationError {
  constructor(message: string) {
    super('not-found', message);
  }
}

const CONFLICT_REASONS = [
  /**
   * The slug belongs to another status page, in any workspace, or the
   * custom domain belongs to another status page of the workspace.
   */
  'taken',
  /** The declared file owns the resource or a part of it, and a request of the API would change or remove it. */
  'declared-in-file',
  /** Components show the monitor, and the request to remove it does not say what happens to them. */
  'in-use',
  /**
   * The workspace has the maximum number of maintenance
   * windows, or the incident has the maximum number of updates.
   */
  'too-many',
  /** The incident has ended, so its acknowledgement cannot be changed. */
  'ended',
  /** A monitor recorded the incident, so people cannot remove it. */
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

/**
 * An attribute contains the id of a resource that does not exist, has the wrong kind, or is on another page.
 */
export class InvalidReference extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('invalid-reference', message, path);
  }
}

/** The settings of the operator forbid svc to connect to the address in an attribute. */
export class DeniedEndpoint extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('denied-endpoint', message, path);
  }
}

/** The version of the row is none of the expected versions, because another change was written in between. */
export class PreconditionFailed extends ConfigurationError {
  constructor(message: string) {
    super('precondition-failed', message);
  }
}

/** The attribute cannot be changed in an existing resource. A different value needs a new resource. */
export class Immutable extends ConfigurationError {
  constructor(message: string, path: AttributePath) {
    super('immutable', message, path);
  }
}
