import { messageOf } from '../errors.ts';
import type { Measurement } from '../metrics/values.ts';
import type { OwnExportSettings } from './own-metrics-settings.ts';
import type { OwnExportParts } from './parts.ts';
import type { Reader } from './reader.ts';

/**
 * The export of a process's own metrics by OTLP. It delays no other work, neither at the start nor with a
 * slow endpoint. A failed export is not repeated, because counts are cumulative. The log has the first
 * failure after a success.
 */
export class OwnExport {
  readonly #parts: OwnExportParts;
  #reader: Promise<Reader | null> = Promise.resolve(null);
  /** The values for the last export; null until the export is stopped. */
  #last: readonly Measurement[] | null = null;
  #stopped: Promise<void> | null = null;

  constructor(parts: OwnExportParts) {
    this.#parts = parts;
  }

  /** Starts to export. The first export comes after one interval. */
  start(): void {
    const { settings } = this.#parts;
    if (settings !== null) this.#reader = this.#load(settings);
  }

  /**
   * Exports the present values once more and stops. It may be called twice; the first call counts.
   *
   * @param withinMs time for the last export, ms; after that, its connection is cut
   */
  stop(withinMs: number): Promise<void> {
    if (this.#stopped === null) {
      // The values are taken now, because parts that stop in the meantime no longer report values.
      if (this.#parts.settings !== null) this.#last = this.#parts.measurements();
      this.#stopped = this.#reader.then((reader) => reader?.stop(withinMs));
    }
    return this.#stopped;
  }

  async #load(settings: OwnExportSettings): Promise<Reader | null> {
    const { log } = this.#parts;
    try {
      // The module is loaded only here, because OpenTelemetry takes memory that most processes do not need.
      const { startReader } = await import('./reader.ts');
      const measurements = () => this.#last ?? this.#parts.measurements();
      return startReader(settings, { ...this.#parts, measurements });
    } catch (error) {
      log.error({ error: messageOf(error) }, 'the own metrics cannot be exported by OTLP');
      return null;
    }
  }
}
