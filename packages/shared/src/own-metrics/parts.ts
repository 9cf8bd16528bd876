import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Measurement } from '../metrics/values.ts';
import type { ProxyFor } from '../proxy/proxy.ts';
import type { OwnExportSettings } from './own-metrics-settings.ts';

export type OwnExportParts = {
  /** The settings of the export; null: nothing is exported, and no module of OpenTelemetry is loaded. */
  readonly settings: OwnExportSettings | null;
  /** The attributes that the process sets for the resource. Attributes in the settings override them. */
  readonly resource: Readonly<Record<string, string>>;
  readonly measurements: () => readonly Measurement[];
  /** Authorities in PEM. They are trusted in addition to Node's. */
  readonly ca: readonly string[];
  readonly proxyFor: ProxyFor | undefined;
  readonly clock: Pick<Clock, 'wall' | 'monotonic'>;
  readonly log: Logger;
};
