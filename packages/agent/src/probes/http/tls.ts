import { isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect, type PeerCertificate, type SecureContext, type TLSSocket } from 'node:tls';
import { checkAlternativeNames } from '@svc/shared/server-identity.ts';

export type TlsOptions = {
  /** PEM certificates trusted beside the usual ones. */
  ca?: readonly string[];
};

/** What is offered to the target (ALPN, RFC 7301). */
export type Protocol = 'http/1.1' | 'h2';

export type Secured =
  | {
      kind: 'trusted';
      certificateExpiresAt: number | undefined;
      /** Agreed on; undefined: the target took none of what was offered, or knows nothing of the extension. */
      protocol: Protocol | undefined;
    }
  | { kind: 'untrusted'; certificateExpiresAt: number | undefined; message: string };

export type SecureOptions = {
  /** Name or IP literal that the certificate must be for. */
  serverName: string;
  context: SecureContext;
  offers: Protocol;
  /** Where to connect to, or the connection to use. */
  via: { address: string; port: number; onread?: OnReadOpts } | { socket: Socket };
  /** Handshake done; nothing was sent yet, and nothing may be when it is `untrusted`. */
  onSecured: (secured: Secured) => void;
};

/** Opens a verified TLS connection; failures before the end of the handshake are the socket's `error`. */
export function openTls({ serverName, context, offers, via, onSecured }: SecureOptions): TLSSocket {
  let certificate: PeerCertificate | undefined;
  const socket = connect({
    ...('socket' in via
      ? { socket: via.socket }
      : { host: via.address, port: via.port, autoSelectFamily: false, ...onreadOf(via.onread) }),
    secureContext: context,
    // SNI has names only (RFC 6066, section 3).
    servername: isIP(serverName) === 0 ? serverName : '',
    ALPNProtocols: [offers],
    // Verified all the same, below: node would drop a connection it does not trust before its
    // certificate can be read, and the expiry of an expired certificate is worth knowing.
    rejectUnauthorized: false,
    checkServerIdentity: (_host, peer) => {
      certificate = peer;
      return checkAlternativeNames(serverName, peer);
    },
  });
  socket.once('secureConnect', () => {
    // Node looks at the name only when the chain is trusted, and keeps the certificate no other way.
    const validTo = certificate?.valid_to ?? socket.getPeerX509Certificate()?.validTo;
    const certificateExpiresAt = validTo === undefined ? undefined : Date.parse(validTo);
    if (socket.authorized) {
      const protocol = socket.alpnProtocol === offers ? offers : undefined;
      onSecured({ kind: 'trusted', certificateExpiresAt, protocol });
      return;
    }
    const names = certificate?.subjectaltname;
    const message = describeDistrust(String(socket.authorizationError), serverName, {
      certificateExpiresAt,
      names,
    });
    onSecured({ kind: 'untrusted', certificateExpiresAt, message });
  });
  return socket;
}

function onreadOf(onread: OnReadOpts | undefined): { onread?: OnReadOpts } {
  return onread === undefined ? {} : { onread };
}

type CertificateFacts = { certificateExpiresAt: number | undefined; names: string | undefined };

/** Why a certificate is not trusted, for people. The codes are OpenSSL's, as node reports them. */
function describeDistrust(code: string, serverName: string, facts: CertificateFacts): string {
  const certificate = `the certificate of ${serverName}`;
  switch (code) {
    case 'CERT_HAS_EXPIRED': {
      const { certificateExpiresAt } = facts;
      const day =
        certificateExpiresAt === undefined ? '' : ` on ${new Date(certificateExpiresAt).toISOString()}`;
      return `${certificate} or its issuer's expired${day}`;
    }
    case 'CERT_NOT_YET_VALID':
      return `${certificate} is not valid yet`;
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
    default:
      return `${certificate} is not trusted (${code.slice(0, 100)})`;
  }
}
