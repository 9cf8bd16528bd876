import { LIMITS } from '../limits.ts';
import type { Attempts, Check, CheckKind, CheckOf } from '../messages/check.ts';
import { withoutUserInfo } from '../url-secrets.ts';
import type { ResourceDefinition } from './definition.ts';
import { type DnsMonitor, dnsCheckOf, dnsMonitor } from './dns-monitor.ts';
import { type HttpMonitor, httpCheckOf, httpMonitor } from './http-monitor.ts';
import { type TcpMonitor, tcpCheckOf, tcpMonitor } from './tcp-monitor.ts';

/** Normalized monitors by the type of their checks. */
export type Monitors = { http: HttpMonitor; tcp: TcpMonitor; dns: DnsMonitor };

export type Monitor = Monitors[keyof Monitors];

/** A kind of monitor: its definition for users, and the functions that depend on the kind. */
type MonitorEntry<T extends CheckKind> = {
  readonly definition: ResourceDefinition & {
    readonly kind: KindOfType<T>;
    readonly constants: { readonly type: T };
  };
  /** The check for probes. Names are in their ASCII form, and header values are in clear text. */
  checkOf(monitor: Monitors[T], attempts: Attempts): CheckOf<T>;
  /** The target that alerts name, without user information. */
  targetOf(monitor: Monitors[T]): string;
};

/** Every kind of monitor, one line each, in the order in which pages and documents have them. */
export const MONITORS: { readonly [T in CheckKind]: MonitorEntry<T> } = {
  http: { definition: httpMonitor, checkOf: httpCheckOf, targetOf: ({ url }) => withoutUserInfo(url) },
  tcp: { definition: tcpMonitor, checkOf: tcpCheckOf, targetOf: ({ uri }) => uri },
  dns: { definition: dnsMonitor, checkOf: dnsCheckOf, targetOf: ({ uri }) => uri },
};

export const MONITOR_TYPES = Object.keys(MONITORS) as [CheckKind, ...CheckKind[]];

export type KindOfType<T extends CheckKind> = `svc_${T}_monitor`;
export type MonitorKind = KindOfType<CheckKind>;

export function kindOfType<T extends CheckKind>(type: T): KindOfType<T> {
  return `svc_${type}_monitor`;
}

export const MONITOR_KINDS = MONITOR_TYPES.map(kindOfType) as [MonitorKind, ...MonitorKind[]];

/** Makes a table with a line for each kind of monitor, when the lines differ only in the kind. */
export function forMonitors<V>(line: (type: CheckKind) => V): { readonly [K in MonitorKind]: V } {
  const lines = MONITOR_TYPES.map((type) => [kindOfType(type), line(type)]);
  return Object.fromEntries(lines) as { [K in MonitorKind]: V };
}

/**
 * The part of a monitor that probes need, as it travels in jobs. The default time-out is resolved, and
 * international names are in their ASCII form. The check contains secrets in clear text: header values,
 * bodies and user information.
 */
export function toCheck(monitor: Monitor): Check {
  return checkOf(monitor.type, monitor);
}

function checkOf<T extends CheckKind>(type: T, monitor: Monitors[T]): Check {
  const { timeout, retry, degraded_at } = monitor;
  const attempts = { timeout: timeout === 0 ? LIMITS.defaultTimeoutMs : timeout, retry, degraded_at };
  return MONITORS[type].checkOf(monitor, attempts);
}

/**
 * The target as alerts show it: the URL of an HTTP monitor without user information, the URI of any other.
 */
export function targetOf(monitor: Monitor): string {
  return targetOfType(monitor.type, monitor);
}

function targetOfType<T extends CheckKind>(type: T, monitor: Monitors[T]): string {
  return MONITORS[type].targetOf(monitor);
}

/**
 * All attributes that decide what is probed and how the answer is judged, as one text. When this text
 * changes, the monitor's version grows and earlier votes end.
 *
 * The text does not contain name, description, visibility, export and `active`, nor periodicity and regions,
 * which decide when and where the probe runs, nor `quorum`, `confirm_after` and `recover_after`, which judge
 * votes. It contains secrets in clear text, such as header values.
 */
export function probeFingerprint(monitor: Monitor): string {
  return JSON.stringify(toCheck(monitor));
}
