import { isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect, type PeerCertificate, type SecureContext, type TLSSocket } from 'node:tls';
import { checkAlternativeNames } from '@svc/shared/server-identity.ts';
import { describeDistrust } from './distrust.ts';

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
    // Node looks at the name only when the chain is trusted; else it gives the certificate out, but once only.
    const peer = certificate === undefined ? socket.getPeerX509Certificate() : undefined;
    const validTo = certificate?.valid_to ?? peer?.validTo;
    const certificateExpiresAt = validTo === undefined ? undefined : Date.parse(validTo);
    if (socket.authorized) {
      const protocol = socket.alpnProtocol === offers ? offers : undefined;
      onSecured({ kind: 'trusted', certificateExpiresAt, protocol });
      return;
    }
    const message = describeDistrust(String(socket.authorizationError), serverName, {
      expiresAt: certificateExpiresAt,
      beginsAt: peer === undefined ? undefined : Date.parse(peer.validFrom),
      names: certificate?.subjectaltname,
      keyBits: peer?.publicKey.asymmetricKeyDetails?.modulusLength,
      signature: peer?.signatureAlgorithm,
    });
    onSecured({ kind: 'untrusted', certificateExpiresAt, message });
  });
  return socket;
}

function onreadOf(onread: OnReadOpts | undefined): { onread?: OnReadOpts } {
  return onread === undefined ? {} : { onread };
}
