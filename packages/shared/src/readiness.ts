/** How a supervised process tells its supervisor that it does its work now: over their channel. */

const READY_MESSAGE = { event: 'ready' } as const;

export function isReadyMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'event' in message && message.event === 'ready';
}

/** Tells the supervisor, if there is one. The log may be set to keep silent, so it is not said there. */
export function sayReady(): void {
  if (!process.connected) return;
  // Without a callback a supervisor that goes at this moment would crash the process.
  process.send?.(READY_MESSAGE, undefined, undefined, () => {});
}
