import type { OnReadOpts, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Secured } from './tls.ts';

/** Receives the events of a socket. */
export interface SocketListener {
  onConnect(): void;
  /**
   * The TLS handshake is done.
   *
   * @param readsItself whether the socket reads through {@link SocketLink.onread}
   */
  onSecured(secured: Secured, socket: TLSSocket, readsItself: boolean): void;
  /**
   * `count` bytes were just read into `bytes`. Once this method
   * has returned, other sockets may overwrite `bytes`.
   */
  onBytes(count: number, bytes: Uint8Array): void;
  /** The target closed its side of the connection, or the socket is closed. */
  onEnd(): void;
  onError(error: NodeJS.ErrnoException): void;
}

const LINK = Symbol('link');

type LinkedSocket = Socket & { [LINK]?: SocketLink };

/**
 * The only reference from a socket to its exchange. It ends when the link is cut.
 *
 * Every socket, closed or not, lives until the next full garbage collection, with
 * everything that it references. The reason is that Node's `WritableState` has a closure
 * that holds the socket, and that V8 puts such closures into the old generation (decision
 * 0020). So the socket must not reference the attempt, which is three times as large.
 */
export class SocketLink {
  #listener: SocketListener | undefined;

  constructor(listener: SocketListener) {
    this.#listener = listener;
  }

  /** Returns the option `onread` for a socket, which then reads into the buffer of {@link readBuffer}. */
  onread(): OnReadOpts {
    return {
      buffer: readBuffer(),
      callback: (count, bytes) => {
        this.#listener?.onBytes(count, bytes);
        return true;
      },
    };
  }

  /**
   * Adds the event handlers to the socket. They stay for the life of the socket,
   * because an error after the end of the exchange must not crash the process.
   */
  listenTo(socket: LinkedSocket): void {
    socket[LINK] = this;
    socket.on('connect', connected);
    socket.on('error', errored);
    socket.on('end', ended);
    socket.on('close', ended);
  }

  /** Reads from a socket that was opened without {@link onread}. The socket may be paused. */
  readFrom(socket: Socket): void {
    socket.on('data', (bytes: Buffer) => this.#listener?.onBytes(bytes.length, bytes));
    socket.resume();
  }

  /** The receiver of the socket's events; undefined once the link is cut. */
  get listener(): SocketListener | undefined {
    return this.#listener;
  }

  secured(secured: Secured, socket: TLSSocket, readsItself: boolean): void {
    this.#listener?.onSecured(secured, socket, readsItself);
  }

  /** Cuts the link: events of the socket are ignored from now on. */
  cut(): void {
    this.#listener = undefined;
  }
}

// All sockets share these functions. Closures for each socket and event took 300 bytes per check.

function connected(this: LinkedSocket): void {
  this[LINK]?.listener?.onConnect();
}

function ended(this: LinkedSocket): void {
  this[LINK]?.listener?.onEnd();
}

function errored(this: LinkedSocket, error: NodeJS.ErrnoException): void {
  this[LINK]?.listener?.onError(error);
}

/** Size of one read, bytes. */
export const READ_BUFFER_BYTES = 16 * 1_024;
const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * The buffer that sockets read into. On POSIX, libuv fills it and calls back in one step, and the callback
 * copies what it needs, so all sockets share one buffer. On Windows, the kernel owns the buffer while a read
 * waits, so each socket needs its own.
 */
function readBuffer(): Buffer {
  return process.platform === 'win32' ? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES) : SHARED_READ_BUFFER;
}
