import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { FileWatch } from '@svc/shared/process/file-watch.ts';

/** Paths of PEM files: the certificate with its chain, and its key. */
export type TlsFiles = { readonly cert: string; readonly key: string };

export type TlsPair = { readonly cert: Buffer; readonly key: Buffer };

/** @throws SvcError `bad-tls-files` when the files cannot be read or do not belong together */
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

/** Reports the pair again when a file changed. An unusable pair is logged, and the former one stays. */
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

  /** Starts to watch. Call it before the files are read for the first time. */
  start(): Promise<void> {
    return this.#watch.expect([this.#files.cert, this.#files.key]);
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
