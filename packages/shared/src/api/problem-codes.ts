/**
 * Meaning of every problem code of the API, with what to do. The `type` of a problem is
 * `urn:svc:problem:<code>`. `docs/reference/problem-codes.md` is made from this table.
 */
export const PROBLEM_MEANINGS = {
  'malformed-request': 'The body is not JSON, or a header or query parameter cannot be read.',
  unauthorized: 'The request has no API token, or one that is unknown, expired or revoked.',
  forbidden: 'The scope of the token does not allow the request.',
  'not-found': 'The path names an object that is not in the workspace of the token.',
  'reference-not-found':
    'The body holds an id that is not in the workspace of the token. The object that the path names exists.',
  'method-not-allowed':
    'The path does not take this method. The header `Allow` lists the methods that it takes.',
  conflict:
    'The request conflicts with the present state: the name is taken, other objects use the resource, the declared file owns it, or the idempotency key came with another body.',
  'precondition-failed': 'The version in `If-Match` is not the present one: read the object again.',
  'too-large': 'The body is larger than the API takes.',
  misdirected: 'The host that the request names is not one of this service.',
  'unsupported-media-type': 'The body is not declared as `application/json`.',
  invalid: 'The body is JSON and has invalid members. `errors` lists all of them.',
  'rate-limited':
    'The token or the address sent too many requests. `Retry-After` says when to send the next.',
  'internal-error': 'A defect of svc. The log has the details under the `request_id`.',
  unavailable:
    'The request cannot be served at this moment: the database accepts no writes, or this coordinator does not lead the shard that the request needs. Nothing was changed. `Retry-After` says when to try again.',
} as const;
export type ProblemCode = keyof typeof PROBLEM_MEANINGS;

export const PROBLEM_CODES = Object.keys(PROBLEM_MEANINGS) as [ProblemCode, ...ProblemCode[]];

/** Whether this version knows a code that the API answered. The API may be of another version. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_MEANINGS, code);
}
