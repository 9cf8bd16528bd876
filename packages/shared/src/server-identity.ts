import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/**
 * Why the certificate is not for the host, by its subject alternative names; undefined when it is.
 *
 * Node falls back to the common name (CN) where no alternative name is for the host; browsers and curl do not
 * (RFC 9525, section 6.3). So Node is given the certificate without its subject. Node also accepts a wildcard
 * that is only a part of a label (`w*.example.com`), which browsers and curl do not. Names with such a
 * wildcard are removed.
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

/** Matches `DNS:w*.example.com`, but not `DNS:*.example.com`. Node puts a name with a comma into quotes. */
const PARTIAL_WILDCARD = /(?<=^|, )DNS:(?!\*\.)[^*,"]*\*[^,"]*(?:, |$)/g;
