import { connect, type OnReadOpts, type Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { EgressGuard } from '@svc/shared/egress.ts';
import { codeOf } from '@svc/shared/errors.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { HttpProxy } from '@svc/shared/proxy/proxy.ts';
import { type DialledAddress, noLocalRoute } from '../../network/local-route.ts';
import type { ResolvedAddress, Resolver } from '../../resolve/resolver.ts';
import { type DialParts, type DialResult, dial, withOwnAddresses } from '../dial.ts';
import { describeSocketError, localFailureIn } from '../socket-failure.ts';
import { READ_BUFFER_BYTES, SocketLink, type SocketListener } from '../socket-link.ts';
import { openTls, type Protocol, type Secured } from '../tls.ts';
import { dialBy, type ProxyDialResult } from './dial-by-proxy.ts';
import { type Hop, hostOf, portOf, serverNameOf } from './hop.ts';
import {
  HTTP2_NOT_AGREED,
  HTTP2_WITHOUT_TLS,
  Http2Conversation,
  http2RequestOf,
  isHttp2,
  NEITHER_PROTOCOL,
} from './http2-conversation.ts';
import { type KeptBodies, NoRoomError } from './kept-bodies.ts';
import { ResponseError } from './response-head.ts';
import { type ResponseListener, ResponseParser } from './response-parser.ts';
import type { Phase } from './stopwatch.ts';

export interface ExchangeListener extends ResponseListener {
  /** The exchange enters `phase`. */
  onPhase(phase: Phase): void;
  onCertificate(expiresAt: number): void;
  /** The exchange has failed. Its connection is closed. */
  onFailure(failure: ExchangeFailure): void;
}

export type ExchangeFailure =
  /** The target failed. */
  | { kind: 'failed'; message: string; timedOut?: boolean; notConnected?: boolean }
  /**
   * This machine could not send the request, or the agent has no memory left for the response. The request
   * cannot be sent, for example, when no descriptors, ports or memory are left, when this machine has no route
   * or a rule forbids the connection, or when no name server answers for the proxy's name.
   */
  | { kind: 'unable'; message: string; reason: NotRunReason }
  /** The operator's proxy cannot be reached, does not answer like a proxy, or refuses to serve the agent. */
  | { kind: 'no-proxy'; message: string }
  | { kind: 'denied'; message: string }
  | { kind: 'aborted' }
  /** svc's own code threw the error. */
  | { kind: 'defect'; error: unknown };

export type ExchangeParts = {
  hop: Hop;
  /** The request as `renderRequest` made it. */
  request: string;
  /** Addresses of the host that the egress guard allows. Empty when a proxy connects (`by`). */
  addresses: readonly ResolvedAddress[];
  /**
   * The proxy that opens a tunnel to the host, and the resolver
   * for the proxy's name. Undefined: the connection is direct.
   */
  by: { proxy: HttpProxy; resolver: Resolver } | undefined;
  egress: EgressGuard;
  secureContext: () => SecureContext;
  keptBodies: KeptBodies;
  /**
   * Remaining time of the attempt, ms, whole. It limits connecting
   * to one of several addresses, and connecting to a proxy.
   */
  remainingMs: number;
  signal: AbortSignal;
};

/**
 * One request and its response over a fresh connection.
 *
 * The exchange speaks HTTP/1.1 wherever the target accepts it. A target that knows only
 * HTTP/2 says so during the TLS handshake, or agrees to no protocol there and does not
 * answer in HTTP/1.1. The exchange then begins again over HTTP/2 (decision 0020).
 *
 * The code does little work per check: no streams lie between the socket and the
 * parser, most sockets share one read buffer ({@link SocketLink.onread}), and sockets share
 * their event handlers. After {@link close}, the {@link ExchangeListener} is not called.
 */
export class Exchange implements SocketListener {
  /**
   * The address of the connection. Until the exchange is connected, the list has
   * all addresses of the host. The list is empty when a proxy connects.
   */
  addresses: readonly DialledAddress[];
  readonly #parts: ExchangeParts;
  readonly #listener: ExchangeListener;
  readonly #parser: ResponseParser;
  #socket: Socket | undefined;
  /** The sockets that wait for a connection to one of several addresses, or the connection to the proxy. */
  #open: Map<Socket, ResolvedAddress> | undefined;
  /** Links this exchange to its socket, or to all sockets while several addresses are dialled. */
  #link = new SocketLink(this);
  #offers: Protocol = 'http/1.1';
  #agreedOn: Protocol | undefined;
  /** The failure of the request over HTTP/1.1, while the exchange tries HTTP/2 because of it. */
  #unanswered: ExchangeFailure | undefined;
  #conversation: Http2Conversation | undefined;
  /** Aborts the connection to the proxy while the tunnel is not open. */
  #wait: AbortController | undefined;
  #isClosed = false;
  #hasSent = false;
  #hasFirstByte = false;
  /** Whether the connection has failed and the exchange is finding out whether this machine has a route. */
  #isAskingForRoute = false;

  constructor(parts: ExchangeParts, listener: ExchangeListener) {
    this.#parts = parts;
    this.#listener = listener;
    this.addresses = parts.addresses;
    this.#parser = new ResponseParser(parts.hop.method, listener, parts.keptBodies);
  }

  start(): void {
    const { addresses, by } = this.#parts;
    const [only] = addresses;
    if (by !== undefined) this.#openBy(by);
    else if (only !== undefined && addresses.length === 1) this.#openDirectly(only.address);
    else this.#openBestOf(addresses);
  }

  /** Destroys the connection at once. It may be called twice, and from within the listener. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#link.cut();
    this.#parser.stop();
    this.#wait?.abort();
    this.#conversation?.close();
    this.#socket?.destroy();
  }

  /**
   * Drops the connection, because the response is complete. The
   * memory of the response's head stays charged until {@link close}.
   */
  hangUp(): void {
    this.#link.cut();
    this.#socket?.destroy();
  }

  /** {@link addresses}, with this machine's own address on each connection that is open. */
  get dialled(): readonly DialledAddress[] {
    const from = this.#socket?.localAddress;
    if (this.#open !== undefined && from === undefined) return withOwnAddresses(this.addresses, this.#open);
    return this.addresses.map((address) => ({ ...address, from }));
  }

  /** The proxy's address, with this machine's own address, once the proxy is connected. */
  get proxyDialled(): readonly DialledAddress[] {
    if (this.#parts.by === undefined || this.#open === undefined) return [];
    return withOwnAddresses([...this.#open.values()], this.#open);
  }

  get #isTls(): boolean {
    return this.#parts.hop.url.protocol === 'https:';
  }

  #openDirectly(address: string): void {
    const port = portOf(this.#parts.hop.url);
    if (this.#isTls) {
      this.#openTls(
        this.#offers === 'h2' ? { address, port } : { address, port, onread: this.#link.onread() },
      );
      return;
    }
    this.#listenTo(connect({ host: address, port, autoSelectFamily: false, onread: this.#link.onread() }));
  }

  #openBy({ proxy, resolver }: NonNullable<ExchangeParts['by']>): void {
    const { hop, remainingMs } = this.#parts;
    const target = { host: hostOf(hop.url), port: portOf(hop.url) };
    // Closing the exchange also ends the wait for a proxy that never answers.
    this.#wait = new AbortController();
    const open = new Map<Socket, ResolvedAddress>();
    this.#open = open;
    dialBy(proxy, target, { resolver, remainingMs, signal: this.#wait.signal, open }).then((result) =>
      this.#guarded(() => this.#dialled(result)),
    );
  }

  #openBestOf(addresses: readonly ResolvedAddress[]): void {
    const { hop, egress, remainingMs: timeoutMs, signal } = this.#parts;
    const host = addresses[0]?.address ?? '';
    this.#open = new Map();
    const dialParts: DialParts = {
      resolver: { resolve: () => [...addresses], isSilentSince: () => false, close: async () => {} },
      egress,
      timeoutMs,
      open: this.#open,
      signal,
    };
    if (!this.#isTls) dialParts.socketOptions = { onread: this.#link.onread() };
    dial(host, portOf(hop.url), dialParts).then((result) => this.#guarded(() => this.#dialled(result)));
  }

  #dialled(result: DialResult | ProxyDialResult): void {
    if (result.kind !== 'connected') {
      if ('addresses' in result && result.addresses !== undefined) this.addresses = result.addresses;
      this.#fail(result.kind === 'failed' ? { ...result, notConnected: true } : result);
      return;
    }
    const { socket } = result;
    if ('address' in result) this.addresses = [result.address];
    if (this.#isClosed) {
      socket.destroy();
      return;
    }
    if (this.#isTls) {
      // Node's TLS over an existing socket does not support `onread`.
      this.#openTls({ socket });
    } else {
      this.#listenTo(socket);
      if (this.#parts.by !== undefined) this.#link.readFrom(socket);
    }
    this.onConnect();
  }

  #openTls(via: { address: string; port: number; onread?: OnReadOpts } | { socket: Socket }): void {
    const readsItself = 'onread' in via;
    const link = this.#link;
    const socket = openTls({
      serverName: serverNameOf(hostOf(this.#parts.hop.url)),
      context: this.#parts.secureContext(),
      offers: this.#offers,
      via,
      onSecured: (secured) => link.secured(secured, socket, readsItself),
    });
    this.#listenTo(socket);
  }

  #listenTo(socket: Socket): void {
    this.#socket = socket;
    this.#link.listenTo(socket);
  }

  onConnect(): void {
    if (this.#isTls) this.#listener.onPhase('tls');
    else this.#send();
  }

  onSecured(secured: Secured, socket: TLSSocket, readsItself: boolean): void {
    this.#guarded(() => this.#secured(secured, socket, readsItself));
  }

  #secured(secured: Secured, socket: TLSSocket, readsItself: boolean): void {
    if (secured.certificateExpiresAt !== undefined)
      this.#listener.onCertificate(secured.certificateExpiresAt);
    if (secured.kind === 'untrusted') {
      this.#fail({ kind: 'failed', message: secured.message });
      return;
    }
    this.#agreedOn = secured.protocol;
    if (secured.protocol === 'h2') {
      this.#unanswered = undefined;
      this.#converse(socket).catch((error) => this.#thrown(error));
    } else if (this.#unanswered !== undefined) this.#fail(this.#unanswered);
    else {
      if (!readsItself) this.#link.readFrom(socket);
      this.#send();
    }
  }

  async #converse(socket: TLSSocket): Promise<void> {
    // From now on, only the conversation listens to the socket. In
    // HTTP/2, the end of the connection is not the end of a response.
    this.#link.cut();
    const http2 = await import('node:http2');
    if (this.#isClosed) return;
    if (socket.destroyed) throw new ResponseError('the target closed the connection without an answer');
    const { hop, request } = this.#parts;
    const { origin } = hop.url;
    this.#conversation = new Http2Conversation(
      { http2, socket, origin, request: http2RequestOf(request) },
      {
        onPhase: (phase) => this.#listener.onPhase(phase),
        onHead: (head) => {
          this.#hasFirstByte = true;
          this.#listener.onHead(head);
        },
        onBody: (bytes, start, end) => this.#listener.onBody(bytes, start, end),
        onComplete: () => this.#listener.onComplete(),
        onError: (error) => {
          if (isOfConnection(error)) this.onError(error);
          else this.#thrown(error);
        },
      },
    );
    this.#conversation.start();
  }

  #startAgainOverHttp2(socket: Socket): void {
    this.#link.cut();
    socket.destroy();
    this.#link = new SocketLink(this);
    this.#offers = 'h2';
    this.#hasSent = false;
    this.#listener.onPhase('connect');
    this.#guarded(() => this.start());
  }

  #send(): void {
    this.#listener.onPhase('first_byte');
    const { request } = this.#parts;
    this.#hasSent = true;
    // Nagle's algorithm would delay the last packet of a request that needs several.
    if (Buffer.byteLength(request) > ONE_PACKET) this.#socket?.setNoDelay();
    this.#socket?.write(request, 'utf8');
  }

  onBytes(count: number, bytes: Uint8Array): void {
    if (!this.#hasFirstByte) {
      if (bytes[0] === 0 && isHttp2(bytes.subarray(0, count))) {
        this.#metHttp2();
        return;
      }
      this.#hasFirstByte = true;
      this.#listener.onPhase('transfer');
    }
    try {
      this.#parser.push((bytes as Buffer).subarray(0, count));
    } catch (error) {
      this.#thrown(error);
    }
    if (count >= READ_BUFFER_BYTES) this.#letOthersRead();
  }

  /** Handles an HTTP/2 answer to an HTTP/1.1 request. */
  #metHttp2(): void {
    if (this.#isTls && this.#offers === 'http/1.1' && this.#socket !== undefined) {
      this.#startAgainOverHttp2(this.#socket);
      return;
    }
    this.#fail({ kind: 'failed', message: this.#isTls ? HTTP2_NOT_AGREED : HTTP2_WITHOUT_TLS });
  }

  /**
   * Lets other sockets read. A full buffer suggests that more bytes wait, and libuv
   * would read from this socket up to 32 times before it turns to another socket.
   * In this way, a body in tiny chunks kept the event loop busy for seconds.
   */
  #letOthersRead(): void {
    if (this.#isClosed) return;
    this.#socket?.pause();
    setImmediate(() => {
      if (!this.#isClosed) this.#socket?.resume();
    });
  }

  onEnd(): void {
    if (this.#isAskingForRoute) return;
    if (this.#hasSent) this.#guarded(() => this.#parser.end());
    else this.#fail({ kind: 'failed', message: 'the target closed the connection during the TLS handshake' });
  }

  onError(error: NodeJS.ErrnoException): void {
    if (error.code === NO_SUCH_PROTOCOL) {
      this.#refusedProtocol();
      return;
    }
    const message = describeSocketError(error, this.#parts.hop.url.host);
    const local = localFailureIn(error);
    if (local === 'used-up') this.#fail({ kind: 'unable', message, reason: 'network-down' });
    else if (local === 'no-route') void this.#askForRoute(message, error.code ?? '');
    else this.#fail({ kind: 'failed', message, notConnected: this.#isCut(error) });
  }

  #refusedProtocol(): void {
    if (this.#offers === 'http/1.1' && this.#socket !== undefined) this.#startAgainOverHttp2(this.#socket);
    else this.#fail({ kind: 'failed', message: NEITHER_PROTOCOL });
  }

  /** Whether the connection itself failed, before the target had sent the first byte of an answer. */
  #isCut({ syscall }: NodeJS.ErrnoException): boolean {
    return !this.#hasFirstByte && syscall !== undefined;
  }

  async #askForRoute(message: string, code: string): Promise<void> {
    const { addresses, by } = this.#parts;
    if (by !== undefined) {
      this.#fail({ kind: 'no-proxy', message });
      return;
    }
    this.#isAskingForRoute = true;
    const noRoute = await noLocalRoute(addresses.map((address) => ({ address, code })));
    if (noRoute === null) this.#fail({ kind: 'failed', message, notConnected: true });
    else this.#fail({ kind: 'unable', ...noRoute });
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#thrown(error);
    }
  }

  #thrown(error: unknown): void {
    if (error instanceof ResponseError) this.#fail({ kind: 'failed', message: error.message });
    else if (error instanceof NoRoomError)
      this.#fail({ kind: 'unable', message: error.message, reason: 'overloaded' });
    else this.#fail({ kind: 'defect', error });
  }

  #fail(failure: ExchangeFailure): void {
    if (this.#isClosed) return;
    if (this.#socket !== undefined && this.#mayKnowHttp2Only(failure)) {
      this.#unanswered = failure;
      this.#startAgainOverHttp2(this.#socket);
      return;
    }
    const reported = failure.kind === 'failed' ? (this.#unanswered ?? failure) : failure;
    this.close();
    this.#listener.onFailure(reported);
  }

  /**
   * Whether the target may know only HTTP/2. Some HTTP/2 targets complete
   * a handshake that agrees on no protocol, and then close the connection.
   */
  #mayKnowHttp2Only({ kind }: ExchangeFailure): boolean {
    const isUnanswered = kind === 'failed' && this.#hasSent && !this.#hasFirstByte;
    return isUnanswered && this.#isTls && this.#offers === 'http/1.1' && this.#agreedOn === undefined;
  }
}

/** Code of the TLS alert that a target sends when it speaks no offered protocol (RFC 7301, section 3.2). */
const NO_SUCH_PROTOCOL = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';

/** Size of a request that fits into one packet, bytes: the smallest usual MTU without headers. */
const ONE_PACKET = 1_200;

/**
 * Whether an error comes from the system or from TLS, and
 * neither from svc's own code nor from the target's bytes.
 */
function isOfConnection(error: unknown): error is NodeJS.ErrnoException {
  return !(error instanceof ResponseError) && /^(?:E(?!RR_)|ERR_SSL_)/.test(codeOf(error));
}
