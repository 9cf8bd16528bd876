import type { ProblemCode } from '@svc/shared/api/problem-codes.ts';
import { isCode, SvcError } from '@svc/shared/errors.ts';
import { z } from 'zod';
import {
  ConfigurationError,
  Conflict,
  InvalidReference,
  NotFound,
  PreconditionFailed,
} from '../declaration/errors.ts';
import { StoreError, type StoreErrorCode } from '../store/errors.ts';

/** The error for work that only a leader can do: this coordinator does not lead now. The API answers 503. */
export class NotLeading extends SvcError {
  readonly retryable = true;

  constructor() {
    super('not-leading', 'this coordinator does not lead at this moment');
  }
}

/** The problems with which the API answers requests. The `type` of a problem is `urn:svc:problem:<code>`. */
export const PROBLEMS = {
  'malformed-request': { status: 400, title: 'The request cannot be read' },
  unauthorized: { status: 401, title: 'A valid API token is needed' },
  forbidden: { status: 403, title: 'The token does not allow this' },
  'not-found': { status: 404, title: 'Not found' },
  'reference-not-found': { status: 404, title: 'The body refers to an object that does not exist' },
  'method-not-allowed': { status: 405, title: 'This path does not take that method' },
  conflict: { status: 409, title: 'The request conflicts with the present state' },
  'precondition-failed': { status: 412, title: 'The object was changed in between' },
  'too-large': { status: 413, title: 'The body is too large' },
  misdirected: { status: 421, title: 'The request is for another host' },
  'unsupported-media-type': { status: 415, title: 'The body must be JSON' },
  invalid: { status: 422, title: 'The content is not valid' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  'internal-error': { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Not possible at the moment' },
} as const satisfies { [C in ProblemCode]: { status: number; title: string } };
export type { ProblemCode };

/** A problem document (RFC 9457). `errors` lists the members and query parameters that are not valid. */
export const problem = z
  .object({
    type: z.string().meta({ description: '`urn:svc:problem:` followed by a stable code.' }),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    /** Id of the request. The header `x-request-id` and the log have the same id. */
    request_id: z.string(),
    errors: z.array(
      z.object({
        pointer: z
          .string()
          .meta({ description: 'JSON pointer into the body. Empty for the body as a whole.' }),
        parameter: z
          .string()
          .optional()
          .meta({ description: 'The query parameter at fault. Absent where the fault is in the body.' }),
        message: z.string(),
      }),
    ),
  })
  .meta({
    examples: [
      {
        type: 'urn:svc:problem:invalid',
        title: 'The content is not valid',
        status: 422,
        detail: 'the body has 1 error; nothing was changed',
        request_id: '4f5c1f6e-6f0e-4b0e-9a53-0f6b6d1f0a51',
        errors: [{ pointer: '/periodicity', message: '"2m" is not one of 30s, 1m, 5m, 10m, 30m, 1h' }],
      },
    ],
  });
type ProblemDocument = z.infer<typeof problem>;
type ProblemDetail = ProblemDocument['errors'][number];

/** An error that the API answers as a problem. Its message is for people, and reveals no internals. */
export class Problem extends SvcError {
  declare readonly code: ProblemCode;
  readonly errors: readonly ProblemDetail[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    more: { errors?: readonly ProblemDetail[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(code, detail);
    this.errors = more.errors ?? [];
    this.headers = more.headers ?? {};
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  response(requestId: string): Response {
    const headers = {
      'content-type': 'application/problem+json',
      'x-request-id': requestId,
      ...this.headers,
    };
    return new Response(JSON.stringify(this.document(requestId)), { status: this.status, headers });
  }

  document(requestId: string): ProblemDocument {
    const { status, title } = PROBLEMS[this.code];
    return {
      type: `urn:svc:problem:${this.code}`,
      title,
      status,
      detail: this.message,
      request_id: requestId,
      errors: [...this.errors],
    };
  }
}

/** Makes the JSON pointer (RFC 6901) to the member at this path. */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Makes the problem about a body with invalid members, which lists all errors. */
export function invalid(issues: readonly { path: readonly PropertyKey[]; message: string }[]): Problem {
  const errors = issues.map(({ path, message }) => ({ pointer: pointerOf(path), message }));
  const detail = errors.length === 1 ? 'the body has 1 error' : `the body has ${errors.length} errors`;
  return new Problem('invalid', `${detail}; nothing was changed`, { errors });
}

/**
 * Makes the problem about a body with the id of an object that the workspace does not have. Its
 * code is not `not-found`, because clients would conclude that the object in the path is gone.
 */
export function referenceNotFound(path: readonly PropertyKey[], message: string): Problem {
  const errors = [{ pointer: pointerOf(path), message }];
  return new Problem('reference-not-found', `${message}; nothing was changed`, { errors });
}

/** Translates an error of another part into a problem; null: the error is a defect of svc. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof NotFound) return new Problem('not-found', error.message);
  if (error instanceof InvalidReference) return referenceNotFound(error.path, error.message);
  if (error instanceof PreconditionFailed) return new Problem('precondition-failed', error.message);
  if (error instanceof ConfigurationError) {
    const errors = [{ pointer: pointerOf(error.path), message: error.message }];
    if (!(error instanceof Conflict)) {
      return new Problem('invalid', 'the body has 1 error; nothing was changed', { errors });
    }
    return new Problem('conflict', error.message, error.path.length === 0 ? {} : { errors });
  }
  if (isCode(error, 'not-leading')) {
    return new Problem('unavailable', 'this coordinator does not lead at this moment; nothing was done', {
      headers: { 'retry-after': '2' },
    });
  }
  return error instanceof StoreError ? problemOfStore(error) : null;
}

/** Texts for the errors of the database that pass by themselves, and are not about writing. */
const STORE_IS_FOR_NOW: Partial<Record<StoreErrorCode, string>> = {
  'store-reader-lost': 'the database does not answer at the moment',
  'store-overloaded': 'too much waits for the database at the moment',
};

/** Texts for the errors of the database that last: what is wrong, and what the operator can do. */
const STORE_IS: Partial<Record<StoreErrorCode, string>> = {
  'store-corrupt': 'the database file is damaged: its operator can restore a backup',
  'store-readonly':
    'the database is read-only for svc: its operator can let svc write to the file and its folder',
  'store-newer': 'a newer version of svc has migrated the database, and this coordinator ends',
};

function problemOfStore({ code, retryable }: StoreError): Problem | null {
  const forNow = STORE_IS_FOR_NOW[code] ?? 'the database accepts no writes at the moment';
  const state = retryable ? forNow : STORE_IS[code];
  if (state === undefined) return null;
  return new Problem('unavailable', `${state}; nothing was changed`, {
    headers: { 'retry-after': retryable ? '1' : '60' },
  });
}

/**
 * Whether the operator must look at the cause of an error: a
 * defect of svc, or a database that does not recover by itself.
 */
export function isForTheLog(error: unknown): boolean {
  return problemOf(error) === null || (error instanceof StoreError && !error.retryable);
}
