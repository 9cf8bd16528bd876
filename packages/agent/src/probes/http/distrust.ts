/** Facts about a server's own certificate; undefined where unknown. Instants are epoch ms. */
export type CertificateFacts = {
  expiresAt: number | undefined;
  beginsAt: number | undefined;
  /** Subject alternative names, as Node writes them. */
  names: string | undefined;
  /** Length of an RSA key, bits. */
  keyBits: number | undefined;
  /** OpenSSL's name of the signature algorithm. */
  signature: string | undefined;
};

/** Shortest RSA key of OpenSSL's security level 2, which Node and Debian's programs use. */
const LEAST_RSA_BITS = 2_048;
const UNSAFE_SIGNATURE = /^(?:sha1|md5)|-with-sha1/i;

/**
 * Says why a certificate is not trusted, for people.
 *
 * @param code OpenSSL's code as Node reports it. A code without a name in Node is `UNSPECIFIED`
 * @param now epoch ms
 */
export function describeDistrust(
  code: string,
  serverName: string,
  facts: CertificateFacts,
  now = Date.now(),
): string {
  const certificate = `the certificate of ${serverName}`;
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return describeExpiry(certificate, facts, now);
    case 'CERT_NOT_YET_VALID':
      return facts.beginsAt !== undefined && facts.beginsAt <= now
        ? `the certificate of an authority that issued ${certificate} is not valid yet`
        : `${certificate} is not valid yet`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return facts.names === undefined
        ? `${certificate} has no subject alternative name, and its common name (CN) does not count`
        : `the certificate is not for ${serverName} but for ${facts.names.slice(0, 200)}`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return `${certificate} is self-signed`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return `${certificate} is issued by an authority that is not trusted (self-signed certificate in the chain)`;
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `${certificate} is issued by an authority that is not trusted, or an intermediate certificate is missing`;
    case 'INVALID_PURPOSE':
      return `${certificate} is not made for servers (${code})`;
    case 'UNSPECIFIED':
      return describeUnspecified(certificate, facts);
    default:
      return `${certificate} is not trusted (${code.slice(0, 100)})`;
  }
}

function describeExpiry(certificate: string, { expiresAt }: CertificateFacts, now: number): string {
  if (expiresAt !== undefined && expiresAt > now) {
    return `the certificate of an authority that issued ${certificate} has expired: the server sends an old chain`;
  }
  const day = expiresAt === undefined ? '' : ` on ${new Date(expiresAt).toISOString()}`;
  return `${certificate} expired${day}`;
}

function describeUnspecified(certificate: string, { keyBits, signature }: CertificateFacts): string {
  if (keyBits !== undefined && keyBits < LEAST_RSA_BITS) {
    return `${certificate} has a key that is too short (${keyBits} bits, but at least ${LEAST_RSA_BITS} are needed)`;
  }
  if (signature !== undefined && UNSAFE_SIGNATURE.test(signature)) {
    return `${certificate} is signed with an unsafe method (${signature})`;
  }
  return `${certificate} or an issuer's certificate is too weak, or has an extension that is not understood`;
}
