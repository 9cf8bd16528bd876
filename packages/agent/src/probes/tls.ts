import { isIP, type OnReadOpts, type Socket } from 'node:net';
import {
  connect,
  type DetailedPeerCertificate,
  type PeerCertificate,
  type SecureContext,
  TLSSocket,
} from 'node:tls';
import { checkAlternativeNames } from '@svc/shared/server-trust.ts';

export type TlsOptions = {
  /** PEM certificates of authorities that are trusted in addition to those that this process trusts. */
  ca?: readonly string[];
  /**
   * Groups of the TLS key exchange that the client offers,
   * in OpenSSL's notation. Default: OpenSSL's own list.
   */
  groups?: string | undefined;
};

/** Protocol that the client offers to the target (ALPN, RFC 7301). */
export type Protocol = 'http/1.1' | 'h2';

export type Secured =
  | {
      kind: 'trusted';
      certificateExpiresAt: number | undefined;
      /** The agreed protocol. Undefined when the target chose no protocol, or does not know ALPN. */
      protocol: Protocol | undefined;
    }
  | { kind: 'untrusted'; certificateExpiresAt: number | undefined; message: string };

type SecureParts = {
  /** Name or IP literal that the certificate must be valid for. */
  serverName: string;
  context: SecureContext;
  offers: Protocol;
  /** The address to connect to, or an existing connection. */
  via: { address: string; port: number; onread?: OnReadOpts } | { socket: Socket };
  /**
   * Called after the handshake, before anything is sent. If the result is `untrusted`, nothing may be sent.
   */
  onSecured: (secured: Secured) => void;
};

/**
 * Opens a TLS connection and verifies the server's certificate. If the handshake fails,
 * `onSecured` is not called, and the socket's events `error` and `end` report the failure.
 */
export function openTls({ serverName, context, offers, via, onSecured }: SecureParts): TLSSocket {
  let certificate: PeerCertificate | undefined;
  const socket = connect({
    ...('socket' in via
      ? { socket: via.socket }
      : { host: via.address, port: via.port, autoSelectFamily: false, ...onreadOf(via.onread) }),
    secureContext: context,
    // SNI carries only names (RFC 6066, section 3).
    servername: isIP(serverName) === 0 ? serverName : '',
    ALPNProtocols: [offers],
    // The certificate is verified below. Node would drop an untrusted connection before its
    // certificate can be read, and the expiry date of an expired certificate is worth knowing.
    rejectUnauthorized: false,
    checkServerIdentity: (_host, peer) => {
      certificate = peer;
      return checkAlternativeNames(serverName, peer);
    },
  });
  socket.getPeerCertificate = withoutIssuers;
  socket.once('secureConnect', () => {
    // Node calls `checkServerIdentity` only when the chain is trusted. If the chain is untrusted,
    // the certificate is read here. Node returns the certificate of a connection only once.
    const peer = certificate === undefined ? socket.getPeerX509Certificate() : undefined;
    const certificateExpiresAt = instantOf(certificate?.valid_to ?? peer?.validTo);
    if (socket.authorized) {
      const protocol = socket.alpnProtocol === offers ? offers : undefined;
      onSecured({ kind: 'trusted', certificateExpiresAt, protocol });
      return;
    }
    const message = describeDistrust(String(socket.authorizationError), serverName, {
      expiresAt: certificateExpiresAt,
      beginsAt: instantOf(peer?.validFrom),
      names: certificate?.subjectaltname,
      keyBits: peer?.publicKey.asymmetricKeyDetails?.modulusLength,
      signature: peer?.signatureAlgorithm,
    });
    onSecured({ kind: 'untrusted', certificateExpiresAt, message });
  });
  return socket;
}

/**
 * Returns only the server's own certificate, which takes 33 µs of CPU. For its check
 * of the name, Node would read the whole chain as objects, which takes 150 µs (71
 * and 300 µs for an RSA chain of three). OpenSSL has already verified the chain.
 */
function withoutIssuers(this: TLSSocket) {
  return TLSSocket.prototype.getPeerCertificate.call(this, false) as DetailedPeerCertificate;
}

/**
 * Reads an instant in OpenSSL's notation. Returns epoch ms, or undefined
 * when there is no text or it cannot be read (`Bad time value`). JSON has
 * no NaN, so the coordinator would refuse a whole result that contained it.
 */
function instantOf(text: string | undefined): number | undefined {
  const instant = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

function onreadOf(onread: OnReadOpts | undefined): { onread?: OnReadOpts } {
  return onread === undefined ? {} : { onread };
}

/**
 * Properties of a server's own certificate. A member is
 * undefined when it is not known. Instants are epoch ms.
 */
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

/**
 * Minimum length of an RSA key at OpenSSL's security level
 * 2, bits. Node and the programs of Debian use this level.
 */
const LEAST_RSA_BITS = 2_048;
const UNSAFE_SIGNATURE = /^(?:sha1|md5)|-with-sha1/i;

/**
 * Says why a certificate is not trusted, for people.
 *
 * @param code OpenSSL's code as Node reports it; `UNSPECIFIED` when Node has no name for it
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
