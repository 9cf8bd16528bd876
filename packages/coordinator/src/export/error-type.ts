/**
 * Values of the attribute `error.type`: why a check failed. The set is closed, so the number of time series
 * is bounded.
 */
export const ERROR_TYPES = [
  '_OTHER',
  'timeout',
  'name_resolution',
  'connection',
  'tls',
  'certificate',
  'protocol',
  'redirect',
  'proxy',
  'assertion',
] as const;
export type ErrorType = (typeof ERROR_TYPES)[number];

/**
 * Patterns of error messages, each with its type of error. The first pattern that matches a message decides.
 * `docs/failures.md` lists all messages, and a test checks the type of each message there.
 */
const BEGINNINGS: readonly (readonly [RegExp, ErrorType])[] = [
  [/^(?:timed out|no connection within|.* was not resolved within)/, 'timeout'],
  [/^asking for .* within \S+ ms/, 'timeout'],
  [/^(?:cannot resolve|no such name|asking for|not a domain name|\S+ leads to no record)/, 'name_resolution'],
  [/^the certificate/, 'certificate'],
  [/^the TLS handshake|during the TLS handshake$|\(ALPN\)$/, 'tls'],
  [/^expected /, 'assertion'],
  [/^(?:redirected|more than \d+ redirects)/, 'redirect'],
  [/^the (?:agent cannot reach the )?proxy/, 'proxy'],
  [
    /^(?:connection|connecting|the agent's machine|the target has IPv6 addresses only|no route|host is down|network|no local address|not permitted|the connection to|the target reset|the target closed the connection before it had)/,
    'connection',
  ],
  [/^the (?:answer|target|body|HTTP\/2)/, 'protocol'],
];

/** The type of error of a failed check; `_OTHER`: there is no message, or no pattern matches the message. */
export function errorTypeOf(message: string | undefined, timedOut: boolean): ErrorType {
  if (timedOut) return 'timeout';
  if (message === undefined) return '_OTHER';
  return BEGINNINGS.find(([beginning]) => beginning.test(message))?.[1] ?? '_OTHER';
}
