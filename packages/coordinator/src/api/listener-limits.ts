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

/** Descriptors that are reserved for internal use: alerts, the database, NATS, files. */
const RESERVE = 512;
/** Bounds on the limit: fewer connections would make the API useless, and more serve no client. */
const FEWEST = 64;
const MOST = 4_096;

type Report = { readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } } };

let own: Report | undefined;

/**
 * Most simultaneous connections of the API. Further ones are dropped, so that alerts still find a descriptor.
 *
 * @param report report of the process, with its soft limit of open files
 */
export function connectionLimit(report: Report = ownReport()): number {
  const soft = Number(report.userLimits?.open_files?.soft ?? 1_024);
  const left = Number.isNaN(soft) ? MOST : soft - RESERVE;
  return Math.max(FEWEST, Math.min(MOST, left));
}

/** The report of this process. It is made once, because the limit stays. */
function ownReport(): Report {
  own ??= reportWithoutNetwork();
  return own;
}

/** With the network, a report asks the name servers for the name of each connection's other end, and waits for them. */
function reportWithoutNetwork(): Report {
  // The types do not have the member yet.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const before = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    return report.getReport() as Report;
  } finally {
    report.excludeNetwork = before;
  }
}
