import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/**
 * Whether the certificate is for the host, as its subject alternative names say; undefined: it is.
 *
 * Node would take the common name (CN) where there is no alternative name for the host, which browsers and curl do
 * not (RFC 9525, section 6.3): so it is shown the certificate without its subject.
 *
 * @param host name or IP literal without brackets
 */
export function checkAlternativeNames(
  host: string,
  { subjectaltname }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  return checkServerIdentity(host, { subjectaltname } as PeerCertificate);
}
