import { isIPv6 } from 'node:net';
import { codeOf } from '@svc/shared/errors.ts';
import { type LocalFailure, localFailureOf } from '../../local-failure.ts';
import { CONNECT_FAILURES } from '../connect-failures.ts';
import { ResponseError } from './response-error.ts';
import { describeTlsFailure } from './tls-failure.ts';

type SocketError = NodeJS.ErrnoException & { address?: unknown; port?: unknown };

/**
 * Says why a connection failed, for people: `connection refused (ECONNREFUSED 127.0.0.1:81)`.
 *
 * @param host host with its port, for errors that name no address
 */
export function describeSocketError(error: SocketError, host: string): string {
  const code = error.code ?? '';
  const place = placeOf(error) ?? host.slice(0, 100);
  const aboutTls = describeTlsFailure(error, place);
  if (aboutTls !== undefined) return aboutTls;
  const known = PLAIN[code];
  if (known !== undefined) return `${known} (${code} ${place})`;
  return `the connection to ${place} failed: ${error.message.slice(0, 200)}`;
}

/**
 * Whether an error comes from the system or from TLS, and neither from svc's own code nor from the target's
 * bytes.
 */
export function isOfConnection(error: unknown): error is NodeJS.ErrnoException {
  return !(error instanceof ResponseError) && /^(?:E(?!RR_)|ERR_SSL_)/.test(codeOf(error));
}

/** What the error says about this machine. */
export function localFailureIn({ code, address }: SocketError): LocalFailure | null {
  return localFailureOf(code ?? '', isIPv6(String(address)) ? 6 : 4);
}

function placeOf({ address, port }: SocketError): string | undefined {
  if (typeof address !== 'string') return undefined;
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

const PLAIN: Readonly<Record<string, string>> = {
  __proto__: null as never,
  ...CONNECT_FAILURES,
  ECONNRESET: 'the target reset the connection',
  EPIPE: 'the target closed the connection before it had the whole request',
  EACCES: 'connecting is not permitted',
};
