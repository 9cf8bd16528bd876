/**
 * The message with which a supervised process tells its supervisor that it does its work now. It goes over
 * their channel.
 */

const READY_MESSAGE = { event: 'ready' } as const;

export function isReadyMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'event' in message && message.event === 'ready';
}

/** Tells the supervisor, if there is one. The log is no place for this, because it may be silent. */
export function sayReady(): void {
  if (!process.connected) return;
  // Without a callback, a supervisor that goes at this moment would crash the process.
  process.send?.(READY_MESSAGE, undefined, undefined, () => {});
}
