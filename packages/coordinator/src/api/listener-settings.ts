import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { FileWatch } from '@svc/shared/process/file-watch.ts';

/** Time limits for the parts of a request, ms. */
export type ListenerTimeouts = {
  readonly handshake: number;
  /**
   * Time from the first byte of a request to the last byte of its headers. On a new
   * connection whose first byte does not come, the time begins with the connection.
   */
  readonly headers: number;
  /** Time from the first byte of a request to the last byte of its body. */
  readonly request: number;
  /**
   * Longest time without a byte in either direction. This limit
   * ends the connections of clients that do not read their answer.
   */
  readonly idle: number;
  /**
   * Interval between checks of the connections. A connection
   * may exceed `headers` and `request` by up to this interval.
   */
  readonly checkEvery: number;
};

export const DEFAULT_TIMEOUTS: ListenerTimeouts = {
  handshake: 10_000,
  headers: 10_000,
  request: 30_000,
  idle: 60_000,
  checkEvery: 1_000,
};

/** File descriptors that are left for alerts, the database, NATS and files. */
const RESERVE = 512;
/**
 * Lowest and highest value of {@link connectionLimit}. Fewer connections would make the API useless, and more
 * would help no client.
 */
const FEWEST = 64;
const MOST = 4_096;

type Report = { readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } } };

let own: Report | undefined;

/**
 * Returns the maximum number of simultaneous connections of the API. Further
 * connections are dropped, so that file descriptors remain for sending alerts.
 *
 * @param report report of the process, with the soft limit of open files
 */
export function connectionLimit(report: Report = ownReport()): number {
  const soft = Number(report.userLimits?.open_files?.soft ?? 1_024);
  const left = Number.isNaN(soft) ? MOST : soft - RESERVE;
  return Math.max(FEWEST, Math.min(MOST, left));
}

/** Returns the diagnostic report of this process. It is made only once, because the limit does not change. */
function ownReport(): Report {
  own ??= reportWithoutNetwork();
  return own;
}

/**
 * Makes a report without its section about the network. For that section, Node
 * would look up the host name of each connected address and wait for the answers.
 */
function reportWithoutNetwork(): Report {
  // Node's types do not have `excludeNetwork` yet.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const before = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    return report.getReport() as Report;
  } finally {
    report.excludeNetwork = before;
  }
}

/** Paths of PEM files: the certificate with its chain, and its key. */
export type TlsFiles = { readonly cert: string; readonly key: string };

export type TlsPair = { readonly cert: Buffer; readonly key: Buffer };

/**
 * Reads the certificate and its key.
 *
 * @throws SvcError `bad-tls-files` when the files cannot be read or do not belong together
 */
export async function readTlsFiles({ cert, key }: TlsFiles): Promise<TlsPair> {
  try {
    const pair = { cert: await readFile(cert), key: await readFile(key) };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    throw new SvcError(
      'bad-tls-files',
      `cannot use the files of SVC_TLS_CERT and SVC_TLS_KEY: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Reads the certificate and its key again when a file changes. If the files
 * are unusable then, logs an error, and the former certificate stays in use.
 */
export class TlsFilesWatch {
  readonly #files: TlsFiles;
  readonly #log: Logger;
  readonly #watch: FileWatch;
  readonly #onChange: (pair: TlsPair) => void;

  constructor(
    files: TlsFiles,
    { clock, log, onChange }: { clock: Clock; log: Logger; onChange: (pair: TlsPair) => void },
  ) {
    this.#files = files;
    this.#log = log;
    this.#onChange = onChange;
    this.#watch = new FileWatch(clock, log, () => void this.#read());
  }

  /** Starts to watch the files. Call `start` before the first reading of the files. */
  start(): Promise<void> {
    return this.#watch.watchFiles([this.#files.cert, this.#files.key]);
  }

  stop(): void {
    this.#watch.close();
  }

  async #read(): Promise<void> {
    try {
      this.#onChange(await readTlsFiles(this.#files));
      this.#log.info({ cert: this.#files.cert }, 'read the TLS certificate again');
    } catch (error) {
      this.#log.error(
        { error: messageOf(error) },
        'cannot read the TLS certificate again: the former one stays in use',
      );
    }
  }
}
