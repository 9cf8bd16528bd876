/** What the API can say is wrong: its `type` is `urn:svc:problem:<code>`. */
export const PROBLEM_CODES = [
  'malformed-request',
  'unauthorized',
  'forbidden',
  'not-found',
  'reference-not-found',
  'method-not-allowed',
  'conflict',
  'precondition-failed',
  'too-large',
  'misdirected',
  'unsupported-media-type',
  'invalid',
  'rate-limited',
  'internal-error',
  'unavailable',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** Whether this version knows a code that some version of the API answered. */
export function isProblemCode(code: string): code is ProblemCode {
  return (PROBLEM_CODES as readonly string[]).includes(code);
}
