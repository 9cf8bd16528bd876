/** Size of one read, bytes. */
export const READ_BUFFER_BYTES = 16 * 1_024;
const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * The buffer that sockets read into. On POSIX, libuv fills it and calls back in one step, and the callback
 * copies what it needs, so all sockets share one. Windows hands buffers to the kernel while it waits, so each
 * socket needs its own.
 */
export function readBuffer(): Buffer {
  return process.platform === 'win32' ? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES) : SHARED_READ_BUFFER;
}
