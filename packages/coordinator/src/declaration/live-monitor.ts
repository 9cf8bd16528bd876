import { periodMs } from '@svc/shared/periodicity.ts';
import type { Region } from '@svc/shared/regions.ts';
import { targetOf, toCheck } from '@svc/shared/resources/check.ts';
import { Secret } from '@svc/shared/secret.ts';
import { longestCheckMs } from '../verdict/longest-check.ts';
import type { DeclaredExport, LiveMonitor } from '../verdict/monitor.ts';
import type { AttributesOf, MonitorKind } from './kinds/kinds.ts';

/** The columns of a monitor's row beside its attributes. */
export type MonitorMetadata = {
  readonly id: number;
  readonly workspaceId: number;
  readonly version: number;
  readonly activatedAt: number;
};

/** @param attributes with secrets in clear */
export function liveMonitor(metadata: MonitorMetadata, attributes: AttributesOf<MonitorKind>): LiveMonitor {
  const check = toCheck(attributes);
  return {
    id: metadata.id,
    workspaceId: metadata.workspaceId,
    type: attributes.type,
    name: attributes.name,
    target: targetOf(attributes),
    active: attributes.active,
    periodMs: periodMs(attributes.periodicity),
    regions: shared(attributes.regions),
    version: metadata.version,
    degradedAtMs: check.degraded_at,
    longestCheckMs: longestCheckMs(check.timeout, check.retry),
    activatedAt: metadata.activatedAt,
    checkText: new Secret(JSON.stringify(check)),
    declaredExport: exportOf(attributes),
  };
}

function exportOf({ otlp_endpoint, otlp_headers }: AttributesOf<MonitorKind>): DeclaredExport | null {
  if (otlp_endpoint === null) return null;
  return { endpoint: new Secret(otlp_endpoint), headers: new Secret(otlp_headers ?? {}) };
}

/**
 * Most monitors use one of few sets of regions. Each set is kept once, so that a hundred thousand monitors
 * stay small.
 */
const SETS_KEPT = 1_000;
const kept = new Map<string, readonly Region[]>();

function shared(regions: readonly Region[] | null): readonly Region[] | null {
  if (regions === null) return null;
  const key = regions.join();
  const known = kept.get(key);
  if (known !== undefined) return known;
  const frozen = Object.freeze([...regions]);
  if (kept.size < SETS_KEPT) kept.set(key, frozen);
  return frozen;
}
