import { createHash } from 'node:crypto';
import { metricsUrlOf } from '@svc/shared/otlp/endpoint.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { Endpoint, ExportSettings } from './export-settings.ts';

/** The destination of the metrics of some monitors. */
export type ExportTarget = Endpoint & {
  /** Of endpoint, headers and workspace: a pipeline each. */
  readonly key: string;
  /** Null: the operator's own, which the guard lets pass. */
  readonly workspaceId: number | null;
};

/** The destination of the monitor's metrics; null: none. */
export function targetOf(monitor: LiveMonitor, settings: ExportSettings): ExportTarget | null {
  const { declaredExport: declared, workspaceId } = monitor;
  if (declared === null) {
    return settings.fallback === null ? null : keyed({ ...settings.fallback, workspaceId: null });
  }
  const headers = Object.entries(declared.headers.reveal()).map(([key, value]) => ({ key, value }));
  return keyed({ url: metricsUrlOf(declared.endpoint.reveal()), headers, workspaceId });
}

/** The order of headers means nothing, and neither does the case of their names. */
function keyed(target: Omit<ExportTarget, 'key'>): ExportTarget {
  const headers = target.headers.map(({ key, value }) => [key.toLowerCase(), value]).sort();
  const key = createHash('sha256')
    .update(JSON.stringify([target.workspaceId, target.url, headers]))
    .digest('base64url');
  return { ...target, key };
}
