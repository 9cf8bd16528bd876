import type { Check } from '@svc/shared/messages/check.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';

export const MONITOR_STATUSES = ['active', 'degraded', 'error', 'unknown'] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

/** The endpoint that a monitor declares for its metrics. */
export type DeclaredExport = {
  /** The declared URL, with its query in clear text. */
  readonly endpoint: Secret;
  readonly headers: Secret<Readonly<Record<string, string>>>;
};

/**
 * A declared monitor as scheduling and evaluation see it. It is immutable and replaced as a whole when the
 * declaration changes.
 */
export type LiveMonitor = {
  readonly id: number;
  readonly workspaceId: number;
  readonly type: Check['type'];
  readonly name: string;
  /**
   * URL without user information and with its secret query, or URI, for alerts. Other views mask the query.
   */
  readonly target: string;
  readonly active: boolean;
  readonly periodMs: number;
  /** Declared regions in the fixed order; null: every region with a live agent. */
  readonly regions: readonly Region[] | null;
  /**
   * Version of the probed attributes. It grows when target, method, assertions, time-out, retry and the like
   * change, not with the name.
   */
  readonly version: number;
  /** Latency above which a passing check is degraded, ms; 0: it never is. */
  readonly degradedAtMs: number;
  /** Upper bound on a check, ms: every attempt at its time-out, with all back-off waits. */
  readonly longestCheckMs: number;
  /**
   * When it was created, last activated, or its probed attributes last changed, epoch ms. It then gets a
   * first slot at once.
   */
  readonly activatedAt: number;
  /** JSON text of the {@link Check} that travels in jobs, with its secrets in clear text. */
  readonly checkText: Secret;
  /** Null: the metrics go to the endpoint of the operator's settings, if there is one. */
  readonly declaredExport: DeclaredExport | null;
};

/**
 * The present declaration of the monitors, in memory. It changes only after the declaring transaction has
 * committed.
 */
export interface LiveMonitors {
  readonly size: number;
  get(id: number): LiveMonitor | undefined;
  values(): Iterable<LiveMonitor>;
  /**
   * Registers a listener. `before` null: created. `after` null: deleted. Returns a function that unregisters
   * it.
   */
  onChange(listener: (before: LiveMonitor | null, after: LiveMonitor | null) => void): () => void;
}
