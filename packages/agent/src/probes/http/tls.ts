import { isIP, type OnReadOpts, type Socket } from 'node:net';
import {
  connect,
  type DetailedPeerCertificate,
  type PeerCertificate,
  type SecureContext,
  TLSSocket,
} from 'node:tls';
import { checkAlternativeNames } from '@svc/shared/server-identity.ts';
import { describeDistrust } from './distrust.ts';

export type TlsOptions = {
  /** PEM certificates that are trusted in addition to the usual ones. */
  ca?: readonly string[];
  /** Groups of the key exchange that are offered, in OpenSSL's notation. Default: OpenSSL's. */
  groups?: string | undefined;
};

/** Protocol that is offered to the target (ALPN, RFC 7301). */
export type Protocol = 'http/1.1' | 'h2';

export type Secured =
  | {
      kind: 'trusted';
      certificateExpiresAt: number | undefined;
      /**
       * The agreed protocol. Undefined: the target took none of the offered ones, or does not know the
       * extension.
       */
      protocol: Protocol | undefined;
    }
  | { kind: 'untrusted'; certificateExpiresAt: number | undefined; message: string };

export type SecureParts = {
  /** Name or IP literal that the certificate must be for. */
  serverName: string;
  context: SecureContext;
  offers: Protocol;
  /** Where to connect, or an existing connection. */
  via: { address: string; port: number; onread?: OnReadOpts } | { socket: Socket };
  /**
   * Called after the handshake, before anything is sent. Nothing may be sent when the result is `untrusted`.
   */
  onSecured: (secured: Secured) => void;
};

/** Opens a verified TLS connection. A failure before the end of the handshake is the socket's `error`. */
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
    // The certificate is verified below nevertheless. Node would drop an untrusted connection before its
    // certificate can be read, and the expiry of an expired certificate is worth knowing.
    rejectUnauthorized: false,
    checkServerIdentity: (_host, peer) => {
      certificate = peer;
      return checkAlternativeNames(serverName, peer);
    },
  });
  socket.getPeerCertificate = withoutIssuers;
  socket.once('secureConnect', () => {
    // Node checks the name only when the chain is trusted. Otherwise it returns the certificate here, but
    // only once.
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
 * The server's own certificate. Before it checks the name, Node asks for the whole chain as objects, which took 150 µs of
 * CPU where this takes 33 (an RSA chain of three: 300 and 71). OpenSSL has verified the chain before.
 */
function withoutIssuers(this: TLSSocket) {
  return TLSSocket.prototype.getPeerCertificate.call(this, false) as DetailedPeerCertificate;
}

/**
 * The instant that OpenSSL writes, epoch ms. Undefined when there is none, or when the certificate has one that
 * cannot be read (`Bad time value`): JSON has no NaN, and the coordinator would refuse the whole result.
 */
function instantOf(text: string | undefined): number | undefined {
  const instant = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

function onreadOf(onread: OnReadOpts | undefined): { onread?: OnReadOpts } {
  return onread === undefined ? {} : { onread };
}
