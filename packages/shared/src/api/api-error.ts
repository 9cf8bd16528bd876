import { z } from 'zod';
import type { API_CLIENT_CODES } from '../error-codes.ts';
import { SvcError } from '../errors.ts';
import { jsonOrUndefined } from '../json.ts';
import type { AnswerHeaders } from './exchange.ts';
import { isProblemCode, type ProblemCode } from './problem-codes.ts';

/**
 * The code of an {@link ApiError}: a problem that the API reported (`not-found`, `invalid`, …), or a failure
 * that the client found itself.
 */
export type ApiErrorCode = ProblemCode | keyof typeof API_CLIENT_CODES | 'bad-settings';

export type ProblemDetail = { readonly pointer: string; readonly message: string };

/**
 * What is wrong with a member of the body, or with a parameter of
 * the query. A message about a parameter begins with its name.
 */
const problemDetail = z
  .looseObject({
    pointer: z.string().catch(''),
    parameter: z.string().catch(''),
    message: z.string().catch(''),
  })
  .transform(({ pointer, parameter, message }) => ({
    pointer,
    message: parameter === '' ? message : `${parameter} ${message}`,
  }));

/**
 * A problem document of the API (RFC 9457). The schema tolerates unknown, missing and malformed members other
 * than `type`, so that answers of other versions are understood.
 */
const problemDocument = z.looseObject({
  type: z.string(),
  detail: z.string().catch(''),
  title: z.string().catch(''),
  request_id: z.string().nullable().catch(null),
  errors: z.array(problemDetail).catch([]),
});

const PROBLEM_TYPE = /^urn:svc:problem:([a-z-]{1,64})$/;

/** Reads a problem document of the API; null when the text is no such document. */
export function problemOf(text: string): (z.infer<typeof problemDocument> & { code: ApiErrorCode }) | null {
  const parsed = problemDocument.safeParse(jsonOrUndefined(text));
  const code = parsed.success ? PROBLEM_TYPE.exec(parsed.data.type)?.[1] : undefined;
  if (!parsed.success || code === undefined) return null;
  return { ...parsed.data, code: isProblemCode(code) ? code : 'unknown-problem' };
}

type Answered = { readonly status: number; readonly headers: AnswerHeaders };

type Details = {
  readonly request: string;
  readonly answered?: Answered;
  readonly errors?: readonly ProblemDetail[];
  readonly requestId?: string | null;
  readonly cause?: unknown;
};

/**
 * A request to the API that did not succeed, or a client whose settings cannot be used. The client puts the
 * method and the path into the message, and never the token or the body.
 */
export class ApiError extends SvcError {
  declare readonly code: ApiErrorCode;
  /** Method and path, as in `GET /v1/monitors/5`; `svc API` when the settings of the client are bad. */
  readonly request: string;
  /**
   * The status and headers of the answer that is the error; null: the error is something else, such as a
   * time-out.
   */
  readonly answered: Answered | null;
  /** The faults of members of the body and of parameters, as the API lists them; empty when it lists none. */
  readonly errors: readonly ProblemDetail[];
  /** The id under which the server's log has the request; null: no answer named one. */
  readonly requestId: string | null;

  constructor(
    code: ApiErrorCode,
    message: string,
    { request, answered, errors = [], requestId, cause }: Details,
  ) {
    super(code, `${request}: ${message}`, cause === undefined ? {} : { cause });
    this.request = request;
    this.answered = answered ?? null;
    this.errors = errors;
    this.requestId = requestId ?? null;
  }

  get status(): number | null {
    return this.answered?.status ?? null;
  }
}

/**
 * Makes the error for an answer that is not a success.
 *
 * Only a problem document of svc gets a code like `not-found`. A proxy's 404 page must never look like an
 * object that is gone.
 *
 * @param note text that is appended to the message; it is left out when an answer below 500 is no problem
 *   document
 */
export function errorOfAnswer(request: string, answered: Answered, text: string, note = ''): ApiError {
  const problem = problemOf(text);
  if (problem === null) {
    return answered.status >= 500 ? serverFailed(request, answered, note) : foreignAnswer(request, answered);
  }
  const { code, detail, title, request_id: requestId, errors } = problem;
  const what = [...new Set([detail || title, ...errors.map(describe)])].filter((line) => line !== '');
  return new ApiError(code, `${what.join('; ')} (${answered.status})${note}`, {
    request,
    answered,
    errors,
    requestId,
  });
}

/**
 * Makes the error for an answer that the API does not give, so that it probably comes from another program.
 */
export function foreignAnswer(request: string, answered: Answered): ApiError {
  const message = `the answer (${answered.status}, ${kindOf(answered)}) is not from the svc API: check the base URL and any proxy in front of it`;
  return new ApiError('not-the-api', message, { request, answered });
}

function serverFailed(request: string, answered: Answered, note: string): ApiError {
  const message = `the answer (${answered.status}, ${kindOf(answered)}) is not from the svc API, which may be down behind a proxy${note}`;
  return new ApiError('server-failed', message, { request, answered });
}

function kindOf({ headers }: Answered): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim().slice(0, 100) ?? '';
  return type === '' ? 'a body without a type' : `a body of type ${type}`;
}

function describe({ pointer, message }: ProblemDetail): string {
  return pointer === '' ? message : `${pointer}: ${message}`;
}
