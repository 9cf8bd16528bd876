import type { Attempts, CheckKind, CheckOf } from '../messages/check.ts';
import { withoutUserInfo } from '../url-secrets.ts';
import type { ResourceDefinition } from './definition.ts';
import { type DnsMonitor, dnsCheckOf, dnsMonitor } from './dns-monitor.ts';
import { type HttpMonitor, httpCheckOf, httpMonitor } from './http-monitor.ts';
import { type TcpMonitor, tcpCheckOf, tcpMonitor } from './tcp-monitor.ts';

/** Normalized monitors by the type of their checks. */
export type Monitors = { http: HttpMonitor; tcp: TcpMonitor; dns: DnsMonitor };

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
