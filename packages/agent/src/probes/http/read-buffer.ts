/** How much is read at once, bytes. */
export const READ_BUFFER_BYTES = 16 * 1_024;
const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/**
 * On POSIX libuv fills the buffer and calls back in one step, and whatever is needed is copied in the
 * callback, so all sockets share one. Windows hands buffers to the kernel while it waits.
 */
export function readBuffer(): Buffer {
  return process.platform === 'win32' ? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES) : SHARED_READ_BUFFER;
}
