import type { Check } from '@svc/shared/messages/check.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';

export const MONITOR_STATUSES = ['active', 'degraded', 'error', 'unknown'] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

/** Where a monitor's metrics go by its declaration. */
export type DeclaredExport = {
  /** As it is declared, with its query in clear. */
  readonly endpoint: Secret;
  readonly headers: Secret<Readonly<Record<string, string>>>;
};

/**
 * A declared monitor as scheduling and evaluation see it: immutable, replaced as a whole when the
 * declaration changes.
 */
export type LiveMonitor = {
  readonly id: number;
  readonly workspaceId: number;
  readonly type: Check['type'];
  readonly name: string;
  /** URL, without user information, or URI: for alerts. */
  readonly target: string;
  readonly active: boolean;
  readonly periodMs: number;
  /** Declared regions in the fixed order; null: every region with a live agent. */
  readonly regions: readonly Region[] | null;
  /** Version of what is probed; grows when target, method, assertions, time-out, retry … change, not with the name. */
  readonly version: number;
  /** ms: every attempt at its time-out, with all back-off waits. */
  readonly longestCheckMs: number;
  /** Epoch ms when it was created, last activated, or last probed otherwise: it gets a first slot at once. */
  readonly activatedAt: number;
  /** JSON text of the {@link Check} that travels in jobs, with its secrets in clear. */
  readonly checkText: Secret;
  /** Null: where the operator's settings say, if anywhere. */
  readonly declaredExport: DeclaredExport | null;
};

/** The monitors as they are declared now, in memory. Changed only after the declaring transaction committed. */
export interface LiveMonitors {
  readonly size: number;
  get(id: number): LiveMonitor | undefined;
  values(): Iterable<LiveMonitor>;
  /** `before` null: created; `after` null: deleted. Returns a function that unregisters. */
  onChange(listener: (before: LiveMonitor | null, after: LiveMonitor | null) => void): () => void;
}
