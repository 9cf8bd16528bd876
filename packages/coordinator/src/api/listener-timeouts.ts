/** What a client has for the parts of a request, ms. */
export type ListenerTimeouts = {
  readonly handshake: number;
  /** From the connection, or the end of the answer before, to the last line of the head. */
  readonly headers: number;
  /** To the last byte of the body. */
  readonly request: number;
  /** Without a byte in either direction: for those that do not read their answer. */
  readonly idle: number;
  /** Between two looks at the connections: the others hold to this. */
  readonly checkEvery: number;
};

export const DEFAULT_TIMEOUTS: ListenerTimeouts = {
  handshake: 10_000,
  headers: 10_000,
  request: 30_000,
  idle: 60_000,
  checkEvery: 1_000,
};
