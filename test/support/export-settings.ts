import type { ExportSettings } from '@svc/coordinator/export/export-settings.ts';

/** The settings of the export without any variable: only the endpoints of monitors get metrics. */
export const NO_EXPORT_SETTINGS: ExportSettings = {
  fallback: null,
  encoding: 'json',
  isCompressed: true,
  histograms: 'exponential',
  intervalMs: 60_000,
  saveEveryMs: 600_000,
  mostNoteBytes: 512 * 1_024 * 1_024,
  timeoutMs: 10_000,
  tls: { ca: [], identity: null },
  resource: [['service.name', 'svc']],
};
