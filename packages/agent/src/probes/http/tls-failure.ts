/** Meanings of OpenSSL's reasons, for the owner of the target. svc speaks TLS 1.2 and 1.3. */
const PLAIN: Readonly<Record<string, string>> = {
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
export function describeTlsFailure(error: TlsError, place: string): string | undefined {
  const { code = '', message, reason } = error;
  if (!code.startsWith('ERR_SSL_') && code !== 'EPROTO') return undefined;
  const given = typeof reason === 'string' ? reason : message.slice(0, 200);
  const plain = PLAIN[given];
  return `the TLS handshake with ${place} failed: ${plain === undefined ? given : `${plain} (${given})`}`;
}
