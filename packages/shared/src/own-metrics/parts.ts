import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Measurement } from '../metrics/values.ts';
import type { ProxyFor } from '../proxy/proxy.ts';
import type { OwnExportSettings } from './own-metrics-settings.ts';

export type OwnExportParts = {
  /** Null: nothing is exported, and nothing of OpenTelemetry is loaded. */
  readonly settings: OwnExportSettings | null;
  /** Attributes of the resource from the process. Attributes of the settings override them. */
  readonly resource: Readonly<Record<string, string>>;
  readonly measurements: () => readonly Measurement[];
  /** Authorities beyond Node's, PEM. */
  readonly ca: readonly string[];
  readonly proxyFor: ProxyFor | undefined;
  readonly clock: Pick<Clock, 'wall' | 'monotonic'>;
  readonly log: Logger;
};
