import type { OnReadOpts, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Secured } from './tls.ts';

/** Told what happens to a socket. */
export interface SocketListener {
  onConnect(): void;
  /**
   * The TLS handshake is done.
   *
   * @param readsItself by {@link SocketLink.onread}
   */
  onSecured(secured: Secured, socket: TLSSocket, readsItself: boolean): void;
  /** `count` bytes were just read into `bytes`, which others use as well once this has returned. */
  onBytes(count: number, bytes: Uint8Array): void;
  /** The target closed its side, or the socket is closed. */
  onEnd(): void;
  onError(error: NodeJS.ErrnoException): void;
}

const LINK = Symbol('link');

type LinkedSocket = Socket & { [LINK]?: SocketLink };

/**
 * All that a socket knows of its exchange, until it is cut.
 *
 * Node's `WritableState` assigns a closure to a property, V8 puts such closures into the old generation, and this one
 * holds its socket: every socket lives until the next full collection, closed or not, with whatever it reaches
 * (decision 0020). So it must not reach the attempt, which is three times as large.
 */
export class SocketLink {
  #listener: SocketListener | undefined;

  constructor(listener: SocketListener) {
    this.#listener = listener;
  }

  /** For the options of a socket that reads into the buffer that all share. */
  onread(): OnReadOpts {
    return {
      buffer: readBuffer(),
      callback: (count, bytes) => {
        this.#listener?.onBytes(count, bytes);
        return true;
      },
    };
  }

  /** The listeners stay on the socket for its life: an error after the end must not crash the process. */
  listenTo(socket: LinkedSocket): void {
    socket[LINK] = this;
    socket.on('connect', connected);
    socket.on('error', errored);
    socket.on('end', ended);
    socket.on('close', ended);
  }

  /** Reads a socket without {@link onread}, which may have been paused. */
  readFrom(socket: Socket): void {
    socket.on('data', (bytes: Buffer) => this.#listener?.onBytes(bytes.length, bytes));
    socket.resume();
  }

  /** Undefined once it is cut. */
  get listener(): SocketListener | undefined {
    return this.#listener;
  }

  secured(secured: Secured, socket: TLSSocket, readsItself: boolean): void {
    this.#listener?.onSecured(secured, socket, readsItself);
  }

  /** Nothing more is heard of the socket. */
  cut(): void {
    this.#listener = undefined;
  }
}

// One for all sockets: a closure for each event of each took 300 bytes per check.

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
 * copies what it needs, so all sockets share one. Windows hands buffers to the kernel while it waits, so each
 * socket needs its own.
 */
function readBuffer(): Buffer {
  return process.platform === 'win32' ? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES) : SHARED_READ_BUFFER;
}
