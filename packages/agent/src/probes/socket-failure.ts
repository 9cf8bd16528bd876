import { isIPv6 } from 'node:net';
import { type LocalFailure, localFailureOf } from '../local-failure.ts';

type SocketError = NodeJS.ErrnoException & { address?: unknown; port?: unknown };

/**
 * Says why a connection failed, for people: `connection refused (ECONNREFUSED 127.0.0.1:81)`.
 *
 * @param host host with its port, used when the error names no address
 */
export function describeSocketError(error: SocketError, host: string): string {
  const code = error.code ?? '';
  const place = placeOf(error) ?? host.slice(0, 100);
  const aboutTls = describeTlsFailure(error, place);
  if (aboutTls !== undefined) return aboutTls;
  const known = SOCKET_FAILURES[code];
  if (known !== undefined) return `${known} (${code} ${place})`;
  return `the connection to ${place} failed: ${error.message.slice(0, 200)}`;
}

/** What the error says about this machine; null when it says nothing about it. */
export function localFailureIn({ code, address }: SocketError): LocalFailure | null {
  return localFailureOf(code ?? '', isIPv6(String(address)) ? 6 : 4);
}

function placeOf({ address, port }: SocketError): string | undefined {
  if (typeof address !== 'string') return undefined;
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Texts for people about connections that failed, by the system's error code. */
export const CONNECT_FAILURES = {
  ECONNREFUSED: 'connection refused',
  ECONNABORTED: 'connection aborted',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'no route to host',
  EHOSTDOWN: 'host is down',
  ENETUNREACH: 'network unreachable',
  ENETDOWN: 'network is down',
  EADDRNOTAVAIL: 'no local address',
} as const;

/** Texts by the system's error code, also for connections that broke after they were established. */
const SOCKET_FAILURES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  ...CONNECT_FAILURES,
  ECONNRESET: 'the target reset the connection',
  EPIPE: 'the target closed the connection before it had the whole request',
  EACCES: 'connecting is not permitted',
};

/** Meanings of OpenSSL's reasons, for the owner of the target. svc speaks TLS 1.2 and 1.3. */
const TLS_FAILURES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  'wrong version number': 'the port does not seem to speak TLS',
  'packet length too long': 'the port does not seem to speak TLS',
  'http request': 'the port does not seem to speak TLS',
  'unsupported protocol': 'the server speaks only TLS versions before 1.2',
  'tlsv1 alert protocol version': 'the server speaks neither TLS 1.2 nor 1.3',
  'ssl/tls alert handshake failure':
    'the server has no cipher in common with svc, or asks for a client certificate',
  'tlsv13 alert certificate required': 'the server asks for a client certificate',
  'tlsv1 unrecognized name': 'the server knows no host of this name (SNI)',
  'tlsv1 alert internal error': 'the server reported an internal error',
  'unsafe legacy renegotiation disabled': 'the server does not know secure renegotiation (RFC 5746)',
  'dh key too small': "the server's key is too short",
  'ee key too small': "the certificate's key is too short",
  'ca md too weak': 'the certificate is signed with an unsafe method',
  'unexpected eof while reading': 'the server closed the connection without closing TLS',
};

type TlsError = Error & { code?: string | undefined; reason?: unknown };

/**
 * Says why TLS failed, in plain words followed by OpenSSL's own reason.
 *
 * @param place address and port, for people
 * @returns undefined when the error is not about TLS
 */
function describeTlsFailure(error: TlsError, place: string): string | undefined {
  const { code = '', message, reason } = error;
  if (!code.startsWith('ERR_SSL_') && code !== 'EPROTO') return undefined;
  const given = typeof reason === 'string' ? reason : message.slice(0, 200);
  const plain = TLS_FAILURES[given];
  return `the TLS handshake with ${place} failed: ${plain === undefined ? given : `${plain} (${given})`}`;
}
