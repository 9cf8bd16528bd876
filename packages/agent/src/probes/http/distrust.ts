/** What is known of a server's own certificate; undefined is unknown. Instants are epoch ms. */
export type CertificateFacts = {
  expiresAt: number | undefined;
  beginsAt: number | undefined;
  /** Its subject alternative names, as node writes them. */
  names: string | undefined;
  /** Length of an RSA key. */
  keyBits: number | undefined;
  /** OpenSSL's name of the algorithm that it is signed by. */
  signature: string | undefined;
};

/** As OpenSSL's security level 2, which node and Debian's programs have. */
const LEAST_RSA_BITS = 2_048;
const UNSAFE_SIGNATURE = /^(?:sha1|md5)|-with-sha1/i;

/**
 * Why a certificate is not trusted, for people.
 *
 * @param code OpenSSL's, as node reports it: one that node has no name for is `UNSPECIFIED`
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
        ? `${certificate} has no subject alternative name, and its common name (CN) counts no more`
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
    return `${certificate} has a key that is too short (${keyBits} bits, ${LEAST_RSA_BITS} are needed)`;
  }
  if (signature !== undefined && UNSAFE_SIGNATURE.test(signature)) {
    return `${certificate} is signed by a method that is not safe (${signature})`;
  }
  return `${certificate} or an issuer's is too weak, or has an extension that is not understood`;
}
