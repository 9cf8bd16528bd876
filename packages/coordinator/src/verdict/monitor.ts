import type { Check } from '@svc/shared/messages/check.ts';
import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';

export const MONITOR_STATUSES = ['active', 'degraded', 'error', 'unknown'] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

/** The endpoint that a monitor declares for its metrics. */
export type DeclaredExport = {
  /** The declared URL. Its query is in clear text. */
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
   * The target as alerts show it: the URL of an HTTP monitor without user information, the URI of any other
   * monitor. The URL contains its secret query, which other views mask.
   */
  readonly target: string;
  readonly active: boolean;
  readonly periodMs: number;
  /** Declared regions in the fixed order; null: every region with a live agent. */
  readonly regions: readonly Region[] | null;
  readonly quorum: Quorum;
  /** Number of slots in a row with a worse verdict after which the status becomes worse, 1 to 10. */
  readonly confirmAfter: number;
  /** Number of slots in a row with a better verdict after which the status becomes better, 1 to 10. */
  readonly recoverAfter: number;
  /**
   * Version of the probed attributes. It grows when an attribute changes that affects the check, such as
   * target, method, assertions, time-out or retry. A change of the name does not change it.
   */
  readonly version: number;
  /**
   * Latency above which a passing check counts as degraded, ms; 0: a passing check never counts as degraded.
   */
  readonly degradedAtMs: number;
  /**
   * Upper bound on the duration of a check, ms; see `longestCheckMs` in `check-duration.ts`.
   */
  readonly longestCheckMs: number;
  /**
   * When the monitor was created or last activated, or when its probed attributes last changed, epoch ms. An active
   * monitor gets its first slot at this instant or shortly after it.
   */
  readonly activatedAt: number;
  /** JSON text of the {@link Check} that travels in jobs, with its secrets in clear text. */
  readonly checkText: Secret;
  /** Null: the metrics go to the endpoint of the operator's settings, if the settings name an endpoint. */
  readonly declaredExport: DeclaredExport | null;
};

/**
 * The present declaration of the monitors, in memory. It changes only after the transaction that changed the
 * declaration is committed.
 */
export interface LiveMonitors {
  readonly size: number;
  get(id: number): LiveMonitor | undefined;
  values(): Iterable<LiveMonitor>;
  /**
   * Registers a listener. `before` null: the monitor was created. `after` null: the monitor was deleted.
   * Returns a function that unregisters the listener.
   */
  onChange(listener: (before: LiveMonitor | null, after: LiveMonitor | null) => void): () => void;
}
