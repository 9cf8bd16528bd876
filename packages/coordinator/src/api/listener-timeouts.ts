/** Time limits for the parts of a request, ms. */
export type ListenerTimeouts = {
  readonly handshake: number;
  /** From the connection, or the end of the previous answer, to the last line of the head. */
  readonly headers: number;
  /** Up to the last byte of the body. */
  readonly request: number;
  /** Without a byte in either direction, for clients that do not read their answer. */
  readonly idle: number;
  /** Interval between checks of the connections. The other limits are kept within it. */
  readonly checkEvery: number;
};

export const DEFAULT_TIMEOUTS: ListenerTimeouts = {
  handshake: 10_000,
  headers: 10_000,
  request: 30_000,
  idle: 60_000,
  checkEvery: 1_000,
};
