/**
 * What the API can say is wrong, with what it means and what to do. The `type` of a problem is
 * `urn:svc:problem:<code>`. `docs/reference/problem-codes.md` is made from this table.
 */
export const PROBLEM_MEANINGS = {
  'malformed-request': 'The body is not JSON, or a header or query parameter cannot be read.',
  unauthorized: 'The request has no API token, or one that is unknown, expired or revoked.',
  forbidden: 'The scope of the token does not allow the request.',
  'not-found': 'What the path names is not in the workspace of the token.',
  'reference-not-found': 'What the path names is there. An id in the body is not in the workspace.',
  'method-not-allowed': 'The path exists and does not take this method. `Allow` has those that it takes.',
  conflict:
    'Something else stands in the way: a name that is taken, a resource that others use or that the declared file owns, a key of idempotency with another body.',
  'precondition-failed': 'The version of `If-Match` is no longer the present one: read the object again.',
  'too-large': 'The body is larger than the API takes.',
  misdirected: 'The host that the request names is not one of this service.',
  'unsupported-media-type': 'The body is not declared as `application/json`.',
  invalid: 'The body was understood and is wrong. `errors` has everything that is wrong with it.',
  'rate-limited': 'The token, or the address, sends too many requests. `Retry-After` says when to go on.',
  'internal-error': 'A defect of svc. The log has the details under the `request_id`.',
  unavailable:
    'It cannot be done at this moment: the database takes nothing, or nobody leads. Nothing was changed. `Retry-After` says when to try again.',
} as const;
export type ProblemCode = keyof typeof PROBLEM_MEANINGS;

export const PROBLEM_CODES = Object.keys(PROBLEM_MEANINGS) as [ProblemCode, ...ProblemCode[]];

/** Whether this version knows a code that some version of the API answered. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_MEANINGS, code);
}
