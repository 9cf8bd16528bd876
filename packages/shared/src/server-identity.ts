import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/**
 * Whether the certificate is for the host, as its subject alternative names say; undefined: it is.
 *
 * Node would take the common name (CN) where there is no alternative name for the host, which browsers and curl do
 * not (RFC 9525, section 6.3): so it is shown the certificate without its subject. Nor do they take a wildcard that is
 * only a part of a label (`w*.example.com`), which node does: names with one are left out.
 *
 * @param host name or IP literal without brackets
 */
export function checkAlternativeNames(
  host: string,
  { subjectaltname }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  const names = subjectaltname?.includes('*') ? subjectaltname.replace(PARTIAL_WILDCARD, '') : subjectaltname;
  return checkServerIdentity(host, { subjectaltname: names } as PeerCertificate);
}

/** `DNS:w*.example.com`, but not `DNS:*.example.com`. Node puts names into quotes that have a comma. */
const PARTIAL_WILDCARD = /(?<=^|, )DNS:(?!\*\.)[^*,"]*\*[^,"]*(?:, |$)/g;
