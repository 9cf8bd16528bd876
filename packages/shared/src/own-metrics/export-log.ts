import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { addressSecrets, maskedExcerpt } from '../masking/mask.ts';
import type { OwnExportSettings } from './own-metrics-settings.ts';

const MOST_BYTES = 300;

/** Logs how the first export ended, and then each change between accepted and failed. */
export class ExportLog {
  readonly #log: Logger;
  readonly #secrets: readonly string[];
  readonly #endpoint: string;
  #state: 'new' | 'working' | 'failing' = 'new';

  constructor({ url, headers }: OwnExportSettings, log: Logger) {
    this.#log = log;
    const address = new URL(url.reveal());
    // Only the origin is logged, because the paths of some receivers contain a key.
    this.#endpoint = address.origin;
    const { username, password, href } = address;
    this.#secrets = [...Object.values(headers.reveal()), username, password, ...addressSecrets(href)];
  }

  /**
   * Records the end of an export.
   *
   * @param error null: the export was accepted
   */
  ended(error: unknown): void {
    const before = this.#state;
    this.#state = error === null ? 'working' : 'failing';
    if (this.#state === before) return;
    const endpoint = this.#endpoint;
    if (error !== null) {
      this.#log.warn(
        { endpoint, error: this.masked(reasonOf(error)) },
        'the own metrics were not exported: svc tries again at the next interval',
      );
    } else if (before === 'failing') {
      this.#log.info({ event: 'recovered', endpoint }, 'the own metrics are exported again');
    } else {
      this.#log.info({ endpoint }, 'the own metrics are exported by OTLP');
    }
  }

  /**
   * The text on one line of at most 300 bytes, without the secrets of the settings. An endpoint may repeat
   * the secrets whole or in part.
   */
  masked(text: string): string {
    return maskedExcerpt(text, this.#secrets, MOST_BYTES);
  }
}

/**
 * The text for an error. The SDK reports an answer of the endpoint as an error whose `code` is the status.
 */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? `answered ${code} ${messageOf(error)}` : messageOf(error);
}
