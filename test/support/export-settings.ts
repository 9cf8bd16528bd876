import type { ExportSettings } from '@svc/coordinator/export/export-settings.ts';

/** What is without any setting: nothing goes out but where monitors say. */
export const NO_EXPORT_SETTINGS: ExportSettings = {
  fallback: null,
  encoding: 'json',
  isCompressed: true,
  histograms: 'exponential',
  intervalMs: 60_000,
  saveEveryMs: 600_000,
  timeoutMs: 10_000,
  tls: { ca: [], identity: null },
  resource: [['service.name', 'svc']],
};
