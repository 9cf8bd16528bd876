import { connect, type OnReadOpts, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { EgressGuard } from '@svc/shared/egress.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { noLocalRoute } from '../../network/local-route.ts';
import type { ResolvedAddress } from '../../resolve/resolver.ts';
import { type DialOptions, type DialResult, dial } from '../dial.ts';
import { type Hop, hostOf, portOf, serverNameOf } from './hop.ts';
import { ResponseError } from './response-error.ts';
import { type ResponseListener, ResponseParser } from './response-parser.ts';
import { describeSocketError, localFailureIn } from './socket-failure.ts';
import type { Phase } from './stopwatch.ts';
import { openTls, type Secured } from './tls.ts';

export interface ExchangeListener extends ResponseListener {
  /** The exchange goes on to `phase`. */
  onPhase(phase: Phase): void;
  onCertificate(expiresAt: number): void;
  /** The end of the exchange; the connection is closed. */
  onFailure(failure: ExchangeFailure): void;
}

export type ExchangeFailure =
  /** The target's doing. */
  | { kind: 'failed'; message: string; timedOut?: boolean; notConnected?: boolean }
  /** This machine could not ask: it is out of descriptors, ports or memory, or has no route. */
  | { kind: 'unable'; message: string; reason: NotRunReason }
  | { kind: 'denied'; message: string }
  | { kind: 'aborted' }
  /** Thrown by our own code. */
  | { kind: 'defect'; error: unknown };

export type ExchangeOptions = {
  hop: Hop;
  /** As {@link renderRequest} made it. */
  request: string;
  /** Not empty, every one allowed by the guard. */
  addresses: readonly ResolvedAddress[];
  egress: EgressGuard;
  secureContext: () => SecureContext;
  /** What is left of the attempt, ms; only choosing among several addresses needs it. */
  remainingMs: number;
  signal: AbortSignal;
};

/**
 * One request and its response over one fresh connection.
 *
 * Written for the least work per check: no stream machinery between socket and parser, one read buffer
 * for all plain sockets, no listener beyond four. The listener hears nothing after {@link close}.
 */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #listener: ExchangeListener;
  readonly #parser: ResponseParser;
  #socket: Socket | undefined;
  #isClosed = false;
  #hasFirstByte = false;
  /** The connection has failed; why is not known yet. */
  #isAskingForRoute = false;

  constructor(options: ExchangeOptions, listener: ExchangeListener) {
    this.#options = options;
    this.#listener = listener;
    this.#parser = new ResponseParser(options.hop.method, listener);
  }

  start(): void {
    const { addresses } = this.#options;
    const [only] = addresses;
    if (only !== undefined && addresses.length === 1) this.#openDirectly(only.address);
    else this.#openBestOf(addresses);
  }

  /** Destroys the connection at once; may be called twice, and from within the listener. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parser.stop();
    this.#socket?.destroy();
  }

  get #isTls(): boolean {
    return this.#options.hop.url.protocol === 'https:';
  }

  #openDirectly(address: string): void {
    const port = portOf(this.#options.hop.url);
    if (this.#isTls) {
      const socket = this.#openTls({ address, port, onread: this.#onread() });
      socket.on('connect', this.#handshaking);
      return;
    }
    const socket = connect({ host: address, port, autoSelectFamily: false, onread: this.#onread() });
    this.#listenTo(socket);
    socket.on('connect', this.#connected);
  }

  #openBestOf(addresses: readonly ResolvedAddress[]): void {
    const { hop, egress, remainingMs: timeoutMs, signal } = this.#options;
    const host = addresses[0]?.address ?? '';
    const options: DialOptions = {
      resolver: { resolve: () => [...addresses], isSilentSince: () => false, close: async () => {} },
      egress,
      timeoutMs,
      signal,
    };
    if (!this.#isTls) options.socketOptions = { onread: this.#onread() };
    dial(host, portOf(hop.url), options).then((result) => this.#guarded(() => this.#dialled(result)));
  }

  #onread(): OnReadOpts {
    return { buffer: readBuffer(), callback: this.#received };
  }

  #dialled(result: DialResult): void {
    if (result.kind !== 'connected') {
      this.#fail(result.kind === 'failed' ? { ...result, notConnected: true } : result);
      return;
    }
    const { socket } = result;
    if (this.#isClosed) {
      socket.destroy();
      return;
    }
    if (this.#isTls) {
      // TLS over a socket that is already there has no onread.
      const secured = this.#openTls({ socket });
      secured.on('data', (bytes: Buffer) => this.#received(bytes.length, bytes));
      this.#handshaking();
    } else {
      this.#listenTo(socket);
      this.#connected();
    }
  }

  #openTls(via: { address: string; port: number; onread: OnReadOpts } | { socket: Socket }): Socket {
    const socket = openTls({
      serverName: serverNameOf(hostOf(this.#options.hop.url)),
      context: this.#options.secureContext(),
      via,
      onSecured: (secured) => this.#guarded(() => this.#secured(secured)),
    });
    this.#listenTo(socket);
    return socket;
  }

  #listenTo(socket: Socket): void {
    this.#socket = socket;
    // Stays on the socket for its life: an error after the end must not crash the process.
    socket.on('error', this.#errored);
    socket.on('end', this.#ended);
    socket.on('close', this.#ended);
  }

  readonly #handshaking = (): void => {
    if (!this.#isClosed) this.#listener.onPhase('tls');
  };

  #secured(secured: Secured): void {
    if (this.#isClosed) return;
    if (secured.certificateExpiresAt !== undefined)
      this.#listener.onCertificate(secured.certificateExpiresAt);
    if (secured.kind === 'untrusted') this.#fail({ kind: 'failed', message: secured.message });
    else this.#connected();
  }

  readonly #connected = (): void => {
    if (this.#isClosed) return;
    this.#listener.onPhase('first_byte');
    const { request } = this.#options;
    // Nagle's algorithm would hold back the last packet of a request that needs several.
    if (request.length > ONE_PACKET) this.#socket?.setNoDelay();
    this.#socket?.write(request, 'utf8');
  };

  /** `bytes` is the shared buffer, of which `count` bytes were just read. */
  readonly #received = (count: number, bytes: Uint8Array): boolean => {
    if (this.#isClosed) return true;
    if (!this.#hasFirstByte) {
      this.#hasFirstByte = true;
      this.#listener.onPhase('transfer');
    }
    try {
      this.#parser.push((bytes as Buffer).subarray(0, count));
    } catch (error) {
      this.#thrown(error);
    }
    if (count >= READ_BUFFER_BYTES) this.#letOthersRead();
    return true;
  };

  /**
   * A full buffer means that more is waiting. libuv would read on up to 32 times before it turns to
   * another socket; a body in tiny chunks kept the event loop for seconds that way.
   */
  #letOthersRead(): void {
    if (this.#isClosed) return;
    this.#socket?.pause();
    setImmediate(this.#readOn);
  }

  readonly #readOn = (): void => {
    if (!this.#isClosed) this.#socket?.resume();
  };

  readonly #ended = (): void => {
    if (!this.#isClosed && !this.#isAskingForRoute) this.#guarded(() => this.#parser.end());
  };

  readonly #errored = (error: NodeJS.ErrnoException): void => {
    if (this.#isClosed) return;
    const { hop } = this.#options;
    const message = describeSocketError(error, hop.url.host);
    const local = localFailureIn(error);
    if (local === 'used-up') this.#fail({ kind: 'unable', message, reason: 'network-down' });
    else if (local === 'no-route') void this.#askForRoute(message);
    else this.#fail({ kind: 'failed', message, notConnected: this.#isCut(error) });
  };

  /** The connection itself has failed, and the target has said nothing yet. */
  #isCut({ syscall }: NodeJS.ErrnoException): boolean {
    return !this.#hasFirstByte && syscall !== undefined;
  }

  async #askForRoute(message: string): Promise<void> {
    this.#isAskingForRoute = true;
    const noRoute = await noLocalRoute(this.#options.addresses);
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
    const isTargets = error instanceof ResponseError;
    this.#fail(isTargets ? { kind: 'failed', message: error.message } : { kind: 'defect', error });
  }

  #fail(failure: ExchangeFailure): void {
    if (this.#isClosed) return;
    this.close();
    this.#listener.onFailure(failure);
  }
}

/** What surely fits one packet: the smallest usual MTU less headers. */
const ONE_PACKET = 1_200;

const READ_BUFFER_BYTES = 16 * 1_024;
const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * On POSIX libuv fills the buffer and calls back in one step, and whatever is needed is copied in the
 * callback, so all sockets share one. Windows hands buffers to the kernel while it waits.
 */
function readBuffer(): Buffer {
  return process.platform === 'win32' ? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES) : SHARED_READ_BUFFER;
}
