import { createHash } from 'node:crypto';
import { metricsUrlOf } from '@svc/shared/otlp/endpoint.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { regionSet } from '../domain/region-set.ts';
import { freshForMs } from '../domain/status.ts';
import type { ExportSettings } from './export-settings.ts';
import type { ExportedMonitor } from './monitor-totals.ts';
import type { ExportTarget } from './pipeline.ts';

/** The destination of the monitor's metrics; null: none. */
export function targetOf(monitor: LiveMonitor, settings: ExportSettings): ExportTarget | null {
  const { declaredExport: declared, workspaceId } = monitor;
  if (declared === null) {
    return settings.fallback === null ? null : keyed({ ...settings.fallback, workspaceId: null }, settings);
  }
  const headers = Object.entries(declared.headers.reveal()).map(([key, value]) => ({ key, value }));
  return keyed({ url: metricsUrlOf(declared.endpoint.reveal()), headers, workspaceId }, settings);
}

/**
 * The attributes that identify its time series. The query of the target is left out, because it may hold a
 * key.
 */
export function exportedMonitor(monitor: LiveMonitor): ExportedMonitor {
  const { id, name, type: kind, target, active: isActive, regions, periodMs, longestCheckMs } = monitor;
  return {
    id,
    name,
    kind,
    target: urlSecrets.left(target),
    isActive,
    regions: regions === null ? null : regionSet(regions),
    freshForMs: freshForMs(periodMs, longestCheckMs),
  };
}

/** The order of headers means nothing, and neither does the case of their names. */
function keyed(
  target: Pick<ExportTarget, 'url' | 'headers' | 'workspaceId'>,
  { encoding, isEncodingOpen, isCompressed }: ExportSettings,
): ExportTarget {
  const headers = target.headers.map(({ key, value }) => [key.toLowerCase(), value]).sort();
  const key = createHash('sha256')
    .update(JSON.stringify([target.workspaceId, target.url, headers]))
    .digest('base64url');
  return { ...target, key, encoding, isEncodingOpen, isCompressed };
}
